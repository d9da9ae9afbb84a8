#include "apps/balance/forwarding.h"

#include <gtest/gtest.h>

namespace lockring::app::balance {
namespace {

using std::chrono::milliseconds;

http::Request request() {
  http::Request request;
  request.method = "POST";
  request.target = "/a%20b?c";
  request.peer = "10.0.0.9";
  request.id = "id-1";
  return request;
}

TEST(ForwardedHead, KeepsWhatIsTheMessages) {
  http::Request given = request();
  given.fields = {{"Host", "here"}, {"Content-Type", "x/y"}, {"Accept", "a"}, {"Accept", "b"}, {"Content-Length", "2"}};
  given.body.append("ab");
  EXPECT_EQ(forwarded_head(given, "there", false, milliseconds(1500)),
            "POST /a%20b?c HTTP/1.1\r\nHost: here\r\nContent-Type: x/y\r\nAccept: a\r\nAccept: b\r\n"
            "Content-Length: 2\r\nx-forwarded-for: 10.0.0.9\r\nx-forwarded-proto: http\r\nx-request-id: id-1\r\n"
            "x-request-timeout-ms: 1500\r\n\r\n");
}

TEST(ForwardedHead, DropsWhatIsTheConnections) {
  http::Request given = request();
  given.fields = {{"connection", "keep-alive, X-Mine ,te"},
                  {"Keep-Alive", "1"},
                  {"TE", "trailers"},
                  {"x-mine", "1"},
                  {"Transfer-Encoding", "chunked"},
                  {"Upgrade", "h2c"},
                  {"Expect", "100-continue"},
                  {"Proxy-Authorization", "secret"},
                  {"X-Yours", "2"}};
  const std::string head = forwarded_head(given, "there", true, milliseconds(0));
  EXPECT_EQ(head,
            "POST /a%20b?c HTTP/1.1\r\nHost: there\r\nX-Yours: 2\r\nx-forwarded-for: 10.0.0.9\r\n"
            "x-forwarded-proto: https\r\nx-request-id: id-1\r\nx-request-timeout-ms: 0\r\n\r\n");
}

TEST(ForwardedHead, TellsTheWholeWay) {
  http::Request given = request();
  given.fields = {{"X-Forwarded-For", "1.1.1.1"},
                  {"x-forwarded-for", "2.2.2.2"},
                  {"X-Forwarded-Proto", "https"},
                  {"X-Request-Id", "other"}};
  const std::string head = forwarded_head(given, "there", false, milliseconds(1));
  EXPECT_NE(head.find("x-forwarded-for: 1.1.1.1, 2.2.2.2, 10.0.0.9\r\n"), std::string::npos) << head;
  EXPECT_EQ(head.find("other"), std::string::npos);
  EXPECT_EQ(head.find("x-forwarded-proto: https"), std::string::npos);
}

TEST(ForwardedResponse, DropsWhatIsTheConnections) {
  http::Received received;
  received.status = 202;
  received.fields = {{"Connection", "close, x-mine"},
                     {"X-Mine", "1"},
                     {"Location", "/jobs/1"},
                     {"Date", "now"},
                     {"Content-Type", "a/b"},
                     {"Transfer-Encoding", "chunked"},
                     {"Set-Cookie", "a"},
                     {"Set-Cookie", "b"}};
  received.body.append("hello");
  const http::Response response = forwarded_response(received);
  EXPECT_EQ(response.status, 202u);
  EXPECT_EQ(response.content_type, "");
  std::string fields;
  for (const http::Header& header : response.headers) fields += header.name + "=" + header.value + ";";
  EXPECT_EQ(fields, "Location=/jobs/1;Content-Type=a/b;Set-Cookie=a;Set-Cookie=b;");
  ASSERT_EQ(response.body.size(), 1u);
  EXPECT_EQ(response.body[0].view(), "hello");
}

TEST(PatienceOf, IsTheLesser) {
  const auto patience = [](std::string_view text) {
    http::Request given = request();
    given.fields = {{"X-Request-Timeout-Ms", text}};
    return patience_of(given, milliseconds(1000)).count();
  };
  EXPECT_EQ(patience("500"), 500);
  EXPECT_EQ(patience("5000"), 1000);
  for (const char* text : {"", "0", "-1", "x", "5x", "99999999999999999999"}) EXPECT_EQ(patience(text), 1000) << text;
}

}  // namespace
}  // namespace lockring::app::balance
