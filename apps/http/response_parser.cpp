#include "apps/http/response_parser.h"

#include "apps/http/request_parser.h"

#include <boost/beast/http/basic_parser.hpp>

#include <limits>
#include <optional>

namespace lockring::app::http {
namespace {

namespace beast = boost::beast::http;
using BeastView = boost::beast::string_view;
using BeastError = boost::beast::error_code;

std::string_view view(BeastView text) { return {text.data(), text.size()}; }

class Reader final : public beast::basic_parser<false> {
 public:
  Reader(bool to_head, std::size_t most) : most_(most) {
    header_limit(ResponseParser::kMaxHead);
    body_limit(std::numeric_limits<std::uint64_t>::max());
    skip(to_head);
    eager(true);
  }

  Received received;

 private:
  void on_response_impl(int status, BeastView, int, BeastError&) override {
    received.status = static_cast<unsigned>(status);
  }

  void on_field_impl(beast::field, BeastView name, BeastView value, BeastError&) override {
    if (!is_header_done()) received.fields.push_back({std::string(view(name)), std::string(view(value))});
  }

  void on_body_init_impl(boost::optional<std::uint64_t> const& length, BeastError&) override {
    if (length && *length > most_) fail_size();
  }

  std::size_t on_body_impl(BeastView bytes, BeastError&) override {
    if (bytes.size() > most_ - received.body.size()) fail_size();
    received.body.append(view(bytes));
    return bytes.size();
  }

  std::size_t on_chunk_body_impl(std::uint64_t, BeastView bytes, BeastError& error) override {
    return on_body_impl(bytes, error);
  }

  [[noreturn]] void fail_size() { fail(ErrorCode::device, "a response of more than {} bytes", most_); }

  void on_request_impl(beast::verb, BeastView, BeastView, int, BeastError&) override {}
  void on_header_impl(BeastError&) override {}
  void on_chunk_header_impl(std::uint64_t, BeastView, BeastError&) override {}
  void on_finish_impl(BeastError&) override {}

  std::size_t most_;
};

}  // namespace

std::string_view Received::header(std::string_view name) const {
  for (const Header& field : fields) {
    if (same_name(field.name, name)) return field.value;
  }
  return {};
}

struct ResponseParser::Impl {
  std::optional<Reader> reader;
  bool to_head = false;
  std::size_t most = 0;
};

ResponseParser::ResponseParser() : impl_(std::make_unique<Impl>()) {}
ResponseParser::~ResponseParser() = default;

void ResponseParser::begin(bool to_head, std::size_t most) {
  impl_->to_head = to_head;
  impl_->most = most;
  impl_->reader.emplace(to_head, most);
}

std::size_t ResponseParser::take(std::string_view bytes) {
  std::size_t used = 0;
  while (used < bytes.size()) {
    Reader& reader = *impl_->reader;
    if (reader.is_header_done() && reader.chunked() && bytes.size() - used < kShortestEnd) break;
    BeastError error;
    const std::size_t took = reader.put(boost::asio::buffer(bytes.data() + used, bytes.size() - used), error);
    used += took;
    if (error && error != beast::error::need_more) fail(ErrorCode::device, "a malformed response: {}", error.message());
    if (reader.is_done()) {
      if (reader.received.status >= 200) break;
      begin(impl_->to_head, impl_->most);
    } else if (took == 0) {
      break;
    }
  }
  return used;
}

void ResponseParser::take_end() {
  Reader& reader = *impl_->reader;
  BeastError error;
  check(reader.is_header_done(), ErrorCode::device, "the connection ended before the response's head did");
  if (!reader.is_done()) reader.put_eof(error);
  check(!error, ErrorCode::device, "the connection ended in the middle of the response");
}

bool ResponseParser::done() const { return impl_->reader->is_done(); }

Received& ResponseParser::received() {
  Reader& reader = *impl_->reader;
  reader.received.keep_alive = reader.is_done() && reader.keep_alive();
  return reader.received;
}

}  // namespace lockring::app::http
