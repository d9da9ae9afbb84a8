#include "apps/http/request_parser.h"

#include <gtest/gtest.h>

namespace lockring::app::http {
namespace {

// The status that `f` throws; 0 if it does not.
unsigned status_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const StatusError& error) {
    return error.status();
  }
  return 0;
}

constexpr std::string_view kPost = "POST /a%20b?x=1 HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nA:  b \r\n\r\n";
constexpr std::string_view kChunked = "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: CHUNKED\r\n\r\n";

TEST(RequestParser, FindsTheHeadWhereverItsBytesAreCut) {
  const std::string bytes = std::string(kPost) + "hello";
  for (std::size_t cut = 0; cut <= kPost.size(); ++cut) {
    RequestParser parser;
    const std::size_t early = parser.find_head(bytes.substr(0, cut));
    EXPECT_EQ(early, cut == kPost.size() ? kPost.size() : 0) << cut;
    if (early == 0) {
      EXPECT_EQ(parser.find_head(bytes), kPost.size()) << cut;
    }
  }
}

TEST(RequestParser, Parses) {
  RequestParser parser;
  Request parsed;
  const Framing framing = parser.parse(kPost, parsed);
  const Request request = std::move(parsed);  // whose views still hold
  EXPECT_EQ(request.method, "POST");
  EXPECT_EQ(request.target, "/a%20b?x=1");
  EXPECT_EQ(request.path, "/a b");
  EXPECT_EQ(request.query("x"), "1");
  EXPECT_TRUE(request.http11);
  ASSERT_EQ(request.fields.size(), 3u);
  EXPECT_EQ(request.header("a"), "b");
  EXPECT_EQ(framing.content_length, 5u);
  EXPECT_FALSE(framing.chunked);
  EXPECT_TRUE(framing.keep_alive);
  EXPECT_FALSE(framing.expects_continue);
}

TEST(RequestParser, TakesChunksWhereverTheyAreCut) {
  const std::string chunks = "5\r\nhello\r\n1;a=b\r\n!\r\n0\r\nT: u\r\n\r\nGET";
  const std::size_t end = chunks.size() - 3;
  for (std::size_t cut = 1; cut < end; ++cut) {
    RequestParser parser;
    Request request;
    EXPECT_TRUE(parser.parse(kChunked, request).chunked);
    Body body;
    const std::size_t used = parser.take_chunks(chunks.substr(0, cut), body, 6);
    EXPECT_FALSE(parser.done());
    EXPECT_EQ(used + parser.take_chunks(std::string_view(chunks).substr(used), body, 6), end) << cut;
    EXPECT_TRUE(parser.done());
    EXPECT_EQ(body.text(), "hello!");
  }
}

// The status with which these chunks are refused; 0: they are taken.
unsigned take(std::string_view chunks, std::size_t most) {
  return status_of([&] {
    RequestParser parser;
    Request request;
    parser.parse(kChunked, request);
    Body body;
    parser.take_chunks(chunks, body, most);
  });
}

TEST(RequestParser, ALineEndInAChunkLineIsRefusedWhereverItIsCut) {
  EXPECT_EQ(take("5;a=\"W\nx\"\r\nhello\r\n", 5), 400u);
  EXPECT_EQ(take("5;a=\"W\nx", 5), 400u);
}

TEST(RequestParser, LineEndsInAChunksDataAreData) {
  EXPECT_EQ(take("e\r\nT: uM\n\r\n", 20), 0u);
  EXPECT_EQ(take("e\r\n\n", 20), 0u);
}

TEST(RequestParser, TakesALastChunkByteByByte) {
  RequestParser parser;
  Request request;
  parser.parse(kChunked, request);
  Body body;
  const std::string_view end = "0\r\n\r\n";
  for (std::size_t size = 1; size < end.size(); ++size)
    EXPECT_EQ(parser.take_chunks(end.substr(0, size), body, 5), 0u) << size;
  EXPECT_EQ(parser.take_chunks(end, body, 5), end.size());
  EXPECT_TRUE(parser.done());
}

TEST(RequestParser, LimitsChunks) {
  EXPECT_EQ(take("5\r\nhello\r\n", 5), 0u);
  EXPECT_EQ(take("5\r\nhello\r\n1\r\n", 5), 413u);
  EXPECT_EQ(take("5;" + std::string(20'000, 'a'), 5), 400u);
  std::string many;
  for (int i = 0; i < 10'000; ++i) many += "1\r\na\r\n";
  EXPECT_EQ(take(many, 1 << 20), 400u);
}

TEST(RequestParser, IsReadyForTheNext) {
  RequestParser parser;
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(parser.find_head(kPost), kPost.size());
    Request request;
    EXPECT_EQ(parser.parse(kPost, request).content_length, 5u);
  }
}

TEST(RequestParser, LimitsTheHead) {
  const std::string fields(RequestParser::kMaxHead, 'a');
  EXPECT_EQ(status_of([&] { RequestParser().find_head("GET / HTTP/1.1\r\nA: " + fields); }), 431u);
  EXPECT_EQ(status_of([&] { RequestParser().find_head("GET /" + fields); }), 414u);
}

}  // namespace
}  // namespace lockring::app::http
