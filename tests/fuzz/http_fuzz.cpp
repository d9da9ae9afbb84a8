// What comes over a socket. The first byte says what the others are: 0 a request, 1 a response, 2 a URL.
#include "apps/http/request_parser.h"
#include "apps/http/response_parser.h"
#include "apps/http/url.h"
#include "tests/fuzz/fuzz.h"

#include <optional>
#include <string>

namespace {

using namespace lockring;
using namespace lockring::app;

constexpr std::size_t kMostBody = 1 << 16;

// What a connection makes of a request: its parts as one text, or the status that it is refused with.
std::string read_request(std::string_view bytes, std::size_t step) {
  http::RequestParser parser;
  http::Request request;
  http::Framing framing;
  std::size_t head = 0;
  std::size_t used = 0;
  try {
    for (std::size_t end = std::min(step, bytes.size());; end = std::min(end + step, bytes.size())) {
      if (head == 0 && (head = parser.find_head(bytes.substr(0, end))) != 0) {
        framing = parser.parse(bytes.substr(0, head), request);
        used = head;
      }
      if (head != 0 && framing.chunked && !parser.done())
        used += parser.take_chunks(bytes.substr(used, end - used), request.body, kMostBody);
      if (end == bytes.size()) break;
    }
  } catch (const http::StatusError& error) {
    fuzz::expect(error.status() >= 400 && error.status() <= 505, error.what());
    return std::to_string(error.status());
  }
  if (head == 0) return "unfinished";
  fuzz::expect(request.path.starts_with('/'), "a path begins with '/'");
  fuzz::expect((request.path + "/").find("/../") == std::string::npos, "a path does not lead up");
  fuzz::expect(request.path.find('\0') == std::string::npos, "a path has no NUL");
  fuzz::expect(request.body.size() <= kMostBody, "a body has a limit");
  fuzz::expect(!framing.chunked || framing.content_length == 0, "a body's end is not ambiguous");
  return std::string(request.method) + request.path + "|" + std::string(request.body.text());
}

void read_response(std::string_view bytes) {
  http::ResponseParser parser;
  parser.begin(false, kMostBody);
  const std::size_t used = parser.take(bytes);
  fuzz::expect(used <= bytes.size(), "no more is used than there is");
  if (!parser.done()) parser.take_end();
  fuzz::expect(parser.received().body.size() <= kMostBody, "a body has a limit");
}

void read_url(std::string_view text) {
  const http::Url url = http::parse_url(text);
  const http::Url again = http::parse_url((url.tls ? "https://" : "http://") + url.authority() + url.target);
  fuzz::expect(again.host == url.host && again.port == url.port && again.target == url.target, "a URL comes back");
  http::query_value(url.target, "a");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  if (size < 2) return 0;
  const std::string_view text = fuzz::text_of(bytes + 2, size - 2);
  if (bytes[0] % 3 == 0) {
    const std::string whole = read_request(text, text.size() + 1);
    // Of longer ones a line in a chunk may be refused before its end has come.
    const bool is_short = text.size() <= http::RequestParser::kMaxTarget;
    fuzz::expect(!is_short || read_request(text, bytes[1] + 1) == whole,
                 "it does not matter in which pieces bytes come");
  } else if (bytes[0] % 3 == 1) {
    fuzz::read_or_refuse(ErrorCode::device, [&] { read_response(text); });
  } else {
    fuzz::read_or_refuse(ErrorCode::usage, [&] { read_url(text); });
  }
  return 0;
}
