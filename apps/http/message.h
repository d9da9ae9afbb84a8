// What an HTTP/1.1 exchange consists of: the request as it was read, the response as it is to be written.
//
// RFC 9110 and 9112. Nothing here knows about sockets.
#pragma once

#include "core/error.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lockring::app::http {

// Bytes in one block whose start is aligned to 64 bytes and behind whose end 64 more may be read: what vector
// instructions and simdjson ask for, so that parsers and tensors can use a body where it lies. Move-only.
class Body {
 public:
  static constexpr std::size_t kAlignment = 64;
  static constexpr std::size_t kSlack = 64;

  char* data() { return data_.get(); }
  const char* data() const { return data_.get(); }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  std::string_view text() const { return {data_.get(), size_}; }
  std::span<const std::byte> bytes() const { return std::as_bytes(std::span(data_.get(), size_)); }

  // Keeps what is there; what is new is not initialised. Throws std::bad_alloc.
  void resize(std::size_t size);
  // Grows in steps that make many small appends cheap.
  void append(std::string_view bytes);

 private:
  struct Free {
    void operator()(char* data) const { std::free(data); }
  };
  std::unique_ptr<char, Free> data_;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

struct Field {
  std::string_view name;
  std::string_view value;
};

// "a" of "A: b" whatever its case (ASCII).
bool same_name(std::string_view a, std::string_view b);

// A whole request. Its views point into the block that it owns, so that it may be moved to another thread, not copied.
struct Request {
  Request() = default;
  Request(Request&&) = default;
  Request& operator=(Request&&) = default;

  std::string_view method;     // "GET", as it was sent
  std::string_view target;     // as it was sent: "/v2/models/a%20b?x=1"
  std::string_view raw_query;  // what follows '?', not decoded
  std::string path;            // decoded; begins with '/', has no NUL, no "." or ".." segment, no encoded '/'
  bool http11 = true;          // false: HTTP/1.0
  std::vector<Field> fields;   // in the order they came
  Body body;                   // without transfer and (ServerOptions::decode_bodies) content coding
  std::string peer;            // the client's address, "127.0.0.1"
  std::string id;              // x-request-id if there is a sane one, else made here

  // The value of the first field of that name, "" if there is none. Case does not matter.
  std::string_view header(std::string_view name) const;
  bool has_header(std::string_view name) const;
  // The decoded value of "name=value" in the query; nullopt if it is not there.
  std::optional<std::string> query(std::string_view name) const;

  std::vector<char> head;  // what the views point into
};

// A piece of a response's body with its owner: one that is kept as text, shared with others, or lives for ever.
class Buffer {
 public:
  Buffer(std::string text) : text_(std::move(text)) {}
  Buffer(const char* text) : text_(text) {}
  // `owner` keeps `bytes` alive.
  Buffer(std::shared_ptr<const void> owner, std::span<const std::byte> bytes)
      : owner_(std::move(owner)), shared_(reinterpret_cast<const char*>(bytes.data()), bytes.size()) {}
  // Bytes of static lifetime: an embedded file.
  static Buffer constant(std::string_view bytes) { return {std::make_shared<int>(), std::as_bytes(std::span(bytes))}; }

  // Valid until the buffer is moved or dies.
  std::string_view view() const { return owner_ ? shared_ : std::string_view(text_); }

 private:
  std::string text_;
  std::shared_ptr<const void> owner_;
  std::string_view shared_;
};

struct Header {
  std::string name;
  std::string value;
};

// The server adds Content-Length (but to HEAD where it is among `headers`), Connection, Date and x-request-id. Names
// and values that hold line ends are refused.
struct Response {
  unsigned status = 200;
  std::string content_type = "application/json";  // "": none
  std::vector<Header> headers;
  std::vector<Buffer> body;  // written one after the other, by one system call when it can be

  std::size_t body_size() const;
};

Response json_response(unsigned status, std::string json);
// {"error": message}
Response error_response(unsigned status, std::string_view message);
// `text` as a JSON string with its quotes; what is not printable is shown as \x1b (core/text.h).
std::string json_string(std::string_view text);
// "Not Found" of 404.
std::string_view reason_phrase(unsigned status);

// An error that knows its status: what a handler throws for 404, 405, 413, 503 and the like.
class StatusError : public Error {
 public:
  StatusError(unsigned status, const std::string& message, std::vector<Header> headers = {})
      : Error(status < 500 ? ErrorCode::usage : ErrorCode::other, message),
        status_(status),
        headers_(std::move(headers)) {}
  unsigned status() const { return status_; }
  const std::vector<Header>& headers() const { return headers_; }

 private:
  unsigned status_;
  std::vector<Header> headers_;
};

// The response to the exception that is being handled: StatusError its own status, Error{usage} and {data} 400,
// std::bad_alloc 503, anything else 500. Call inside catch.
Response response_to_exception();

}  // namespace lockring::app::http
