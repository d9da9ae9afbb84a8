#include "apps/http/request_parser.h"

#include "apps/http/url.h"
#include "core/text.h"

#include <boost/beast/http/basic_parser.hpp>

#include <cstring>
#include <limits>
#include <optional>

namespace lockring::app::http {
namespace {

namespace beast = boost::beast::http;
using BeastView = boost::beast::string_view;
using BeastError = boost::beast::error_code;

std::string_view view(BeastView text) { return {text.data(), text.size()}; }

constexpr char kBadLineEnd[] = "a line that does not end with CR LF";

[[noreturn]] void refuse(unsigned status, const std::string& message) { throw StatusError(status, message); }

// What Beast tells while it reads; exceptions pass through it.
class Reader final : public beast::basic_parser<true> {
 public:
  Reader() {
    header_limit(RequestParser::kMaxHead);
    body_limit(std::numeric_limits<std::uint64_t>::max());  // limits depend on the path, and are looked at elsewhere
  }

  std::vector<Field> fields;
  std::string_view method, target;
  int version = 0;
  Body* body = nullptr;
  std::size_t most = 0;
  std::uint64_t left_of_chunk = 0;  // data still to come

 private:
  void on_request_impl(beast::verb, BeastView method_text, BeastView target_text, int version_number,
                       BeastError&) override {
    method = view(method_text);
    target = view(target_text);
    version = version_number;
  }

  void on_field_impl(beast::field, BeastView name, BeastView value, BeastError&) override {
    if (is_header_done()) return;  // a trailer, which nobody reads
    if (fields.size() == RequestParser::kMaxFields)
      refuse(431, fmt::format("more than {} header fields", RequestParser::kMaxFields));
    fields.push_back({view(name), view(value)});
  }

  std::size_t on_body_impl(BeastView, BeastError&) override { return 0; }

  void on_chunk_header_impl(std::uint64_t size, BeastView extensions, BeastError&) override {
    // Others may see a line's end there, even within quotes.
    if (view(extensions).find('\n') != std::string_view::npos) refuse(400, kBadLineEnd);
    if (size > most - body->size()) refuse(413, fmt::format("the body is larger than {} bytes", most));
    // Chunks of a few bytes cost far more than they carry.
    if (++chunks_ > kFreeChunks && body->size() / chunks_ < kMinMeanChunk && size > 0)
      refuse(400, fmt::format("{} chunks for {} bytes", chunks_, body->size()));
    left_of_chunk = size;
  }

  std::size_t on_chunk_body_impl(std::uint64_t, BeastView bytes, BeastError&) override {
    body->append(view(bytes));
    left_of_chunk -= bytes.size();
    return bytes.size();
  }

  void on_response_impl(int, BeastView, int, BeastError&) override {}
  void on_header_impl(BeastError&) override {}
  void on_body_init_impl(boost::optional<std::uint64_t> const&, BeastError&) override {}
  void on_finish_impl(BeastError&) override {}

  static constexpr std::size_t kFreeChunks = 4096;
  static constexpr std::size_t kMinMeanChunk = 64;
  std::size_t chunks_ = 0;
};

// The version is looked at first, so that what speaks another protocol is told so.
void check_request_line(std::string_view line) {
  if (line.ends_with(" HTTP/1.1") || line.ends_with(" HTTP/1.0")) return;
  if (line.find(" HTTP/") != std::string_view::npos && line.rfind(" HTTP/") + 9 == line.size())
    refuse(505, "this server speaks HTTP/1.0 and HTTP/1.1");
  refuse(400, "the request line is to end with HTTP/1.1");
}

std::string_view only(const Request& request, std::string_view name) {
  const Field* found = nullptr;
  for (const Field& field : request.fields) {
    if (!same_name(field.name, name)) continue;
    if (found) refuse(400, fmt::format("more than one {} field", name));
    found = &field;
  }
  return found ? found->value : std::string_view();
}

void check_framing(const Request& request) {
  const std::string_view host = only(request, "Host");
  if (request.http11 && !request.has_header("Host")) refuse(400, "HTTP/1.1 needs a Host field");
  if (host.find_first_of(", /\\") != std::string_view::npos) refuse(400, "the Host field is not a host");
  const std::string_view length = only(request, "Content-Length");
  if (length.find_first_not_of("0123456789") != std::string_view::npos) refuse(400, "Content-Length is not a number");
  const std::string_view coding = only(request, "Transfer-Encoding");
  if (!request.has_header("Transfer-Encoding")) return;
  if (!request.http11) refuse(400, "HTTP/1.0 has no Transfer-Encoding");
  if (request.has_header("Content-Length")) refuse(400, "both Content-Length and Transfer-Encoding");
  if (!same_name(coding, "chunked")) refuse(400, "the only Transfer-Encoding known is chunked");
}

// Splits the target; the form with a whole URL is for proxies and allowed to all.
void set_target(Request& request) {
  std::string_view target = request.target;
  if (target == "*" && request.method == "OPTIONS") {
    request.path.assign(1, '/');
    return;
  }
  if (target.starts_with("http://") || target.starts_with("https://")) {
    const std::size_t path = target.find('/', target.find("://") + 3);
    target = path == std::string_view::npos ? "/" : target.substr(path);
  }
  const std::size_t query = target.find('?');
  if (query != std::string_view::npos) request.raw_query = target.substr(query + 1);
  request.path = decode_path(target.substr(0, query));
}

}  // namespace

struct RequestParser::Impl {
  std::optional<Reader> reader;
};

RequestParser::RequestParser() : impl_(std::make_unique<Impl>()) {}
RequestParser::~RequestParser() = default;

std::size_t RequestParser::find_head(std::string_view bytes) {
  if (!bytes.empty() && bytes[0] == 0x16) refuse(400, "this port speaks HTTP, not TLS");
  while (scanned_ < bytes.size()) {
    const void* found = std::memchr(bytes.data() + scanned_, '\n', bytes.size() - scanned_);
    const std::size_t end = found ? static_cast<const char*>(found) - bytes.data() : bytes.size();
    if (line_begin_ == 0 && end > kMaxTarget + 64)
      refuse(414, fmt::format("the target is longer than {} bytes", kMaxTarget));
    if (end > kMaxHead) refuse(431, fmt::format("the head is larger than {} bytes", kMaxHead));
    scanned_ = found ? end + 1 : end;
    if (!found) break;
    if (end == line_begin_ || bytes[end - 1] != '\r') refuse(400, kBadLineEnd);
    if (line_begin_ > 0 && (bytes[line_begin_] == ' ' || bytes[line_begin_] == '\t'))
      refuse(400, "header lines may not be folded");
    if (line_begin_ == 0) check_request_line(bytes.substr(0, end - 1));
    if (end == line_begin_ + 1) {
      const std::size_t head = end + 1;
      scanned_ = line_begin_ = 0;
      return head;
    }
    line_begin_ = end + 1;
  }
  return 0;
}

Framing RequestParser::parse(std::string_view head, Request& request) {
  request.head.assign(head.begin(), head.end());
  Reader& reader = impl_->reader.emplace();
  reader.fields.reserve(16);
  BeastError error;
  reader.put(boost::asio::buffer(request.head), error);
  if (error) refuse(400, "malformed request: " + error.message());
  request.method = reader.method;
  request.target = reader.target;
  request.http11 = reader.version == 11;
  request.fields = std::move(reader.fields);
  if (request.target.size() > kMaxTarget) refuse(414, fmt::format("the target is longer than {} bytes", kMaxTarget));
  check_framing(request);
  try {
    set_target(request);
  } catch (const Error& bad) {
    refuse(400, bad.what());
  }
  Framing framing;
  framing.chunked = reader.chunked();
  framing.content_length = reader.content_length().value_or(0);
  framing.keep_alive = reader.keep_alive();
  const std::string_view expect = request.header("Expect");
  framing.expects_continue = request.http11 && same_name(expect, "100-continue");
  if (!expect.empty() && !framing.expects_continue) refuse(417, "the only expectation known is 100-continue");
  return framing;
}

std::size_t RequestParser::take_chunks(std::string_view bytes, Body& body, std::size_t most) {
  Reader& reader = *impl_->reader;
  reader.body = &body;
  reader.most = most;
  std::size_t used = 0;
  while (bytes.size() - used >= (reader.left_of_chunk > 0 ? 1 : kShortestEnd) && !reader.is_done()) {
    BeastError error;
    const std::size_t took = reader.put(boost::asio::buffer(bytes.data() + used, bytes.size() - used), error);
    used += took;
    if (error == beast::error::need_more) break;
    if (error) refuse(400, "malformed chunk: " + error.message());
  }
  // What is left is an unfinished line, or several in a trailer.
  const std::string_view left = bytes.substr(used);
  if (reader.is_done() || left.size() < kShortestEnd) return used;
  if (left.size() > kMaxTarget) refuse(400, "a chunk's line or a trailer is too long");
  for (std::size_t at = left.find('\n'); at != std::string_view::npos; at = left.find('\n', at + 1)) {
    if (at == 0 || left[at - 1] != '\r') refuse(400, kBadLineEnd);
  }
  return used;
}

bool RequestParser::done() const { return impl_->reader->is_done(); }

}  // namespace lockring::app::http
