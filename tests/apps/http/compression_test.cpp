#include "apps/http/compression.h"

#include <gtest/gtest.h>

namespace lockring::app::http {
namespace {

Response text_response(std::size_t parts) {
  Response response;
  for (std::size_t i = 0; i < parts; ++i) response.body.emplace_back(std::to_string(i) + std::string(50, 'x'));
  return response;
}

std::string whole(const Response& response) {
  std::string text;
  for (const Buffer& buffer : response.body) text += buffer.view();
  return text;
}

Request request_with(std::string_view coding, std::string_view body) {
  Request request;
  request.fields = {{"Content-Encoding", coding}, {"A", "b"}};
  request.body.append(body);
  return request;
}

unsigned status_of_decoding(std::string_view coding, std::string_view body, std::size_t most) {
  Request request = request_with(coding, body);
  try {
    decode_body(request, most);
  } catch (const StatusError& error) {
    return error.status();
  }
  return 200;
}

TEST(Compression, IsUndone) {
  for (const char* coding : {"gzip", "deflate"}) {
    Response response = text_response(100);
    const std::string plain = whole(response);
    encode_body(response, coding);
    ASSERT_EQ(response.headers.at(0).value, coding);
    ASSERT_LT(response.body_size(), plain.size() / 4);
    Request request = request_with(coding, whole(response));
    decode_body(request, plain.size());
    EXPECT_EQ(request.body.text(), plain);
    EXPECT_FALSE(request.has_header("Content-Encoding"));
    EXPECT_TRUE(request.has_header("A"));
    EXPECT_EQ(status_of_decoding(coding, whole(response), plain.size() - 1), 413u);
    EXPECT_EQ(status_of_decoding(coding, whole(response) + "x", plain.size()), 400u);
    EXPECT_EQ(status_of_decoding(coding, whole(response).substr(0, 40), plain.size()), 400u);
  }
}

TEST(Compression, IsForThoseWhoAskForIt) {
  const auto coding = [](std::string_view accepts, std::size_t parts = 100) {
    Response response = text_response(parts);
    encode_body(response, accepts);
    return response.headers.empty() ? "" : response.headers[0].value;
  };
  EXPECT_EQ(coding("gzip, deflate, br"), "gzip");
  EXPECT_EQ(coding("br , deflate;q=0.5"), "deflate");
  EXPECT_EQ(coding("gzip;q=0, deflate"), "deflate");
  EXPECT_EQ(coding("gzip;q=0.0"), "");
  EXPECT_EQ(coding("gzipped"), "");
  EXPECT_EQ(coding(""), "");
  EXPECT_EQ(coding("gzip", 3), "");  // too small to be worth it
}

TEST(Compression, OfAnUnknownKindIsRefused) {
  EXPECT_EQ(status_of_decoding("br", "x", 100), 415u);
  EXPECT_EQ(status_of_decoding("gzip, gzip", "x", 100), 415u);
  EXPECT_EQ(status_of_decoding("identity", "x", 100), 200u);
  EXPECT_EQ(status_of_decoding("gzip", "", 100), 400u);
}

}  // namespace
}  // namespace lockring::app::http
