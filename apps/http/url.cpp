#include "apps/http/url.h"

#include "core/error.h"
#include "core/text.h"

#include <algorithm>
#include <charconv>

namespace lockring::app::http {
namespace {

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// The byte that "%XX" at `at` stands for.
char encoded_byte(std::string_view text, std::size_t at) {
  const int high = at + 2 < text.size() ? hex_digit(text[at + 1]) : -1;
  const int low = at + 2 < text.size() ? hex_digit(text[at + 2]) : -1;
  check(high >= 0 && low >= 0, "'%' is to be followed by two hex digits in '{}'", printable(text));
  return static_cast<char>(16 * high + low);
}

bool is_unreserved(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.' ||
         c == '_' || c == '~';
}

void check_segments(std::string_view path) {
  for (std::size_t begin = 1; begin <= path.size();) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    const std::string_view segment = path.substr(begin, end - begin);
    check(segment != "." && segment != "..", "the path has a segment '{}'", segment);
    begin = end + 1;
  }
}

void check_port(std::string_view port, std::string_view url) {
  int number = 0;
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), number);
  check(error == std::errc() && end == port.data() + port.size() && number >= 1 && number <= 65535,
        "the port of the URL '{}' is to be 1 to 65535, not '{}'", printable(url), printable(port));
}

// Splits "host:port" or "[::1]:port" into the URL's parts.
void split_authority(std::string_view authority, std::string_view text, Url& url) {
  check(authority.find('@') == std::string_view::npos, "the URL '{}' has a user name, which is not supported",
        printable(text));
  std::string_view port;
  if (authority.starts_with('[')) {
    const std::size_t close = authority.find(']');
    check(close != std::string_view::npos, "the URL '{}' has a '[' without ']'", printable(text));
    url.host = authority.substr(1, close - 1);
    port = authority.substr(close + 1);
    check(port.empty() || port.starts_with(':'), "the URL '{}' has '{}' behind ']'", printable(text), printable(port));
  } else {
    const std::size_t colon = std::min(authority.find(':'), authority.size());
    url.host = authority.substr(0, colon);
    port = authority.substr(colon);
  }
  check(!url.host.empty(), "the URL '{}' has no host", printable(text));
  if (!port.empty()) {
    check_port(port.substr(1), text);
    url.port = port.substr(1);
  }
}

}  // namespace

std::string percent_decode(std::string_view text) {
  std::string decoded;
  decoded.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      decoded += text[i];
      continue;
    }
    decoded += encoded_byte(text, i);
    i += 2;
  }
  return decoded;
}

std::string percent_encode(std::string_view text) {
  static constexpr char kDigits[] = "0123456789ABCDEF";
  std::string encoded;
  for (const char c : text) {
    if (is_unreserved(c)) {
      encoded += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      encoded += {'%', kDigits[byte / 16], kDigits[byte % 16]};
    }
  }
  return encoded;
}

std::string decode_path(std::string_view path) {
  check(path.starts_with('/'), "the path '{}' is to begin with '/'", printable(path));
  std::string decoded = path.find('%') == std::string_view::npos ? std::string(path) : percent_decode(path);
  check(std::count(decoded.begin(), decoded.end(), '/') == std::count(path.begin(), path.end(), '/'),
        "the path '{}' has an encoded '/'", printable(path));
  const auto is_bad = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f || c == '\\'; };
  check(std::none_of(decoded.begin(), decoded.end(), is_bad), "the path '{}' has a control character or a backslash",
        printable(path));
  check_segments(decoded);
  return decoded;
}

std::optional<std::string> query_value(std::string_view query, std::string_view name) {
  while (!query.empty()) {
    const std::size_t end = std::min(query.find('&'), query.size());
    std::string pair(query.substr(0, end));
    std::replace(pair.begin(), pair.end(), '+', ' ');
    const std::size_t equals = std::min(pair.find('='), pair.size());
    if (percent_decode(pair.substr(0, equals)) == name)
      return equals == pair.size() ? "" : percent_decode(pair.substr(equals + 1));
    query.remove_prefix(std::min(end + 1, query.size()));
  }
  return std::nullopt;
}

std::string Url::authority() const {
  const bool is_v6 = host.find(':') != std::string::npos;
  std::string text = is_v6 ? fmt::format("[{}]", host) : host;
  if (port != (tls ? "443" : "80")) text.append(":").append(port);
  return text;
}

Url parse_url(std::string_view text) {
  Url url;
  std::string_view rest = text;
  if (const std::size_t scheme = text.find("://"); scheme != std::string_view::npos) {
    const std::string_view name = text.substr(0, scheme);
    check(name == "http" || name == "https", "the URL '{}' is to begin with http:// or https://", printable(text));
    url.tls = name == "https";
    rest = text.substr(scheme + 3);
  }
  check(is_printable(text) && text.find(' ') == std::string_view::npos, "the URL '{}' has a space or control character",
        printable(text));
  url.port = url.tls ? "443" : "80";
  rest = rest.substr(0, rest.find('#'));
  const std::size_t path = std::min(rest.find_first_of("/?"), rest.size());
  split_authority(rest.substr(0, path), text, url);
  if (!rest.substr(path).starts_with('/')) url.target = '/';
  url.target += rest.substr(path);
  return url;
}

}  // namespace lockring::app::http
