#include "apps/http/url.h"

#include "tests/support/errors.h"

#include <gtest/gtest.h>

namespace lockring::app::http {
namespace {

TEST(PercentDecode, Decodes) {
  EXPECT_EQ(percent_decode(""), "");
  EXPECT_EQ(percent_decode("a%20b%2Fc%2f"), "a b/c/");
  EXPECT_EQ(percent_decode("%00").size(), 1u);
}

TEST(PercentDecode, NeedsTwoHexDigits) {
  for (const char* text : {"%", "a%", "%4", "%4g", "%g4", "%%20"})
    expect_error(ErrorCode::usage, "two hex digits", [&] { percent_decode(text); });
}

TEST(PercentEncode, IsUndoneByDecode) {
  std::string all;
  for (int i = 0; i < 256; ++i) all += static_cast<char>(i);
  EXPECT_EQ(percent_decode(percent_encode(all)), all);
  EXPECT_EQ(percent_encode("a-b._~/ "), "a-b._~%2F%20");
}

TEST(DecodePath, KeepsWhatIsHarmless) {
  for (const char* path : {"/", "/a", "/a/", "//", "/v2//models", "/.a/..b/c..", "/..."})
    EXPECT_EQ(decode_path(path), path);
  EXPECT_EQ(decode_path("/caf%C3%A9"), "/caf\u00e9");
}

TEST(DecodePath, RefusesWhatLeadsElsewhere) {
  for (const char* path : {"/..", "/../a", "/a/..", "/a/../b", "/.", "/a/./b", "/%2e%2e/a", "/.%2E"})
    expect_error(ErrorCode::usage, "segment", [&] { decode_path(path); });
  for (const char* path : {"/%00", "/a%0A", "/%7f", "/a\\b", "/a%5Cb"})
    expect_error(ErrorCode::usage, "control character or a backslash", [&] { decode_path(path); });
  expect_error(ErrorCode::usage, "encoded '/'", [] { decode_path("/a%2Fb"); });
  expect_error(ErrorCode::usage, "begin with '/'", [] { decode_path("a"); });
  expect_error(ErrorCode::usage, "begin with '/'", [] { decode_path(""); });
}

TEST(QueryValue, FindsTheFirst) {
  EXPECT_EQ(query_value("a=1&b=2&a=3", "a"), "1");
  EXPECT_EQ(query_value("a=1&b=x%26y+z", "b"), "x&y z");
  EXPECT_EQ(query_value("%61=1", "a"), "1");
  EXPECT_EQ(query_value("a&b=", "a"), "");
  EXPECT_EQ(query_value("a&b=", "b"), "");
  EXPECT_EQ(query_value("ab=1", "a"), std::nullopt);
  EXPECT_EQ(query_value("", "a"), std::nullopt);
  EXPECT_EQ(query_value("&&", "a"), std::nullopt);
}

TEST(ParseUrl, Splits) {
  const Url url = parse_url("https://example.org:8443/a/b?c=d#e");
  EXPECT_TRUE(url.tls);
  EXPECT_EQ(url.host, "example.org");
  EXPECT_EQ(url.port, "8443");
  EXPECT_EQ(url.target, "/a/b?c=d");
  EXPECT_EQ(url.authority(), "example.org:8443");
}

TEST(ParseUrl, FillsIn) {
  EXPECT_EQ(parse_url("http://a").port, "80");
  EXPECT_EQ(parse_url("https://a").port, "443");
  EXPECT_EQ(parse_url("http://a").target, "/");
  EXPECT_EQ(parse_url("http://a?b").target, "/?b");
  EXPECT_EQ(parse_url("localhost:8000").port, "8000");
  EXPECT_EQ(parse_url("localhost:8000/x").target, "/x");
  EXPECT_EQ(parse_url("http://a:80").authority(), "a");
}

TEST(ParseUrl, KnowsAddressesOfVersion6) {
  const Url url = parse_url("http://[::1]:8000/x");
  EXPECT_EQ(url.host, "::1");
  EXPECT_EQ(url.authority(), "[::1]:8000");
  EXPECT_EQ(parse_url("http://[::1]").authority(), "[::1]");
}

TEST(ParseUrl, SaysWhatIsWrong) {
  expect_error(ErrorCode::usage, "http:// or https://", [] { parse_url("ftp://a"); });
  expect_error(ErrorCode::usage, "no host", [] { parse_url("http:///x"); });
  expect_error(ErrorCode::usage, "no host", [] { parse_url(""); });
  expect_error(ErrorCode::usage, "user name", [] { parse_url("http://me:secret@a/"); });
  expect_error(ErrorCode::usage, "without ']'", [] { parse_url("http://[::1"); });
  expect_error(ErrorCode::usage, "behind ']'", [] { parse_url("http://[::1]x"); });
  for (const char* url : {"http://a:", "http://a:0", "http://a:65536", "http://a:+1", "http://a:8x"})
    expect_error(ErrorCode::usage, "1 to 65535", [&] { parse_url(url); });
  expect_error(ErrorCode::usage, "space or control", [] { parse_url("http://a/\r\nx"); });
}

}  // namespace
}  // namespace lockring::app::http
