#include "apps/http/message.h"

#include <gtest/gtest.h>

#include <cstring>
#include <new>

namespace lockring::app::http {
namespace {

TEST(Body, IsAlignedAndHasSlackAtEverySize) {
  Body body;
  std::string expected;
  for (int i = 0; i < 2000; ++i) {
    const std::string piece(static_cast<std::size_t>(i % 37), static_cast<char>('a' + i % 26));
    body.append(piece);
    expected += piece;
    ASSERT_EQ(body.text(), expected);
    if (body.empty()) continue;
    ASSERT_EQ(reinterpret_cast<std::uintptr_t>(body.data()) % Body::kAlignment, 0u);
    ASSERT_EQ(std::string_view(body.data() + body.size(), Body::kSlack), std::string(Body::kSlack, '\0'));
  }
}

TEST(Body, OfNothingStaysNothing) {
  Body body;
  body.append("");
  EXPECT_TRUE(body.empty());
}

TEST(Body, KeepsWhatIsThereWhenResized) {
  Body body;
  body.append("hello");
  body.resize(100'000);
  EXPECT_EQ(body.text().substr(0, 5), "hello");
  body.resize(3);
  EXPECT_EQ(body.text(), "hel");
  EXPECT_THROW(body.resize(SIZE_MAX), std::bad_alloc);
  EXPECT_EQ(body.text(), "hel");
}

TEST(Request, LooksUpFieldsWithoutCase) {
  Request request;
  request.fields = {{"Content-Type", "a"}, {"X", ""}, {"content-type", "b"}};
  EXPECT_EQ(request.header("CONTENT-TYPE"), "a");
  EXPECT_EQ(request.header("Content-Typ"), "");
  EXPECT_TRUE(request.has_header("x"));
  EXPECT_FALSE(request.has_header("y"));
}

TEST(Buffer, KeepsWhatItPointsTo) {
  Response response;
  for (int i = 0; i < 100; ++i) {
    auto numbers = std::make_shared<std::vector<float>>(3, static_cast<float>(i));
    response.body.emplace_back(std::to_string(i));  // short texts move when the list grows
    response.body.emplace_back(numbers, std::as_bytes(std::span(*numbers)));
  }
  EXPECT_EQ(response.body[20].view(), "10");
  float value = 0;
  std::memcpy(&value, response.body[21].view().data() + 4, 4);
  EXPECT_EQ(value, 10.0f);
  EXPECT_EQ(response.body_size(), 190 + 100 * 12u);
  EXPECT_EQ(Buffer::constant("for ever").view(), "for ever");
}

TEST(JsonString, EscapesWhatJsonDoesNotAllow) {
  EXPECT_EQ(json_string("a\"b\\c/é"), R"("a\"b\\c/é")");
  EXPECT_EQ(json_string("a\nb\x01\xff"), R"("a\\x0ab\\x01\\xff")");
}

Response answer_to(const std::function<void()>& handler) {
  try {
    handler();
  } catch (...) {
    return response_to_exception();
  }
  return {};
}

TEST(ResponseToException, KnowsWhoseFaultItIs) {
  EXPECT_EQ(answer_to([] { fail(ErrorCode::usage, "u"); }).status, 400u);
  EXPECT_EQ(answer_to([] { fail(ErrorCode::data, "d"); }).status, 400u);
  EXPECT_EQ(answer_to([] { fail(ErrorCode::device, "d"); }).status, 500u);
  EXPECT_EQ(answer_to([] { throw std::bad_alloc(); }).status, 503u);
  EXPECT_EQ(answer_to([] { throw std::runtime_error("r"); }).body[0].view(), R"({"error":"r"})");
  EXPECT_EQ(answer_to([] { throw 5; }).status, 500u);
  const Response own = answer_to([] { throw StatusError(503, "busy", {{"Retry-After", "1"}}); });
  EXPECT_EQ(own.status, 503u);
  EXPECT_EQ(own.headers.at(0).value, "1");
}

TEST(ReasonPhrase, IsThereForWhatTheServerSays) {
  for (const unsigned status : {200, 400, 404, 408, 413, 414, 417, 431, 500, 503, 505})
    EXPECT_NE(reason_phrase(status), "Status") << status;
  EXPECT_EQ(reason_phrase(599), "Status");
}

}  // namespace
}  // namespace lockring::app::http
