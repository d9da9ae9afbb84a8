#include "apps/http/message.h"

#include "apps/http/url.h"
#include "core/text.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

namespace lockring::app::http {
namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; }

std::size_t rounded(std::size_t bytes) { return (bytes + Body::kAlignment - 1) / Body::kAlignment * Body::kAlignment; }

struct Reason {
  unsigned status;
  std::string_view phrase;
};

// RFC 9110, section 15.
constexpr Reason kReasons[] = {
    {100, "Continue"},
    {200, "OK"},
    {201, "Created"},
    {202, "Accepted"},
    {204, "No Content"},
    {301, "Moved Permanently"},
    {302, "Found"},
    {303, "See Other"},
    {304, "Not Modified"},
    {400, "Bad Request"},
    {401, "Unauthorized"},
    {403, "Forbidden"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {406, "Not Acceptable"},
    {408, "Request Timeout"},
    {409, "Conflict"},
    {410, "Gone"},
    {411, "Length Required"},
    {412, "Precondition Failed"},
    {413, "Content Too Large"},
    {414, "URI Too Long"},
    {415, "Unsupported Media Type"},
    {417, "Expectation Failed"},
    {422, "Unprocessable Content"},
    {429, "Too Many Requests"},
    {431, "Request Header Fields Too Large"},
    {500, "Internal Server Error"},
    {501, "Not Implemented"},
    {502, "Bad Gateway"},
    {503, "Service Unavailable"},
    {504, "Gateway Timeout"},
    {505, "HTTP Version Not Supported"},
};

}  // namespace

void Body::resize(std::size_t size) {
  if (size > capacity_) {
    if (size > PTRDIFF_MAX - kSlack - kAlignment) throw std::bad_alloc();
    const std::size_t capacity = rounded(size + kSlack);
    std::unique_ptr<char, Free> data(static_cast<char*>(std::aligned_alloc(kAlignment, capacity)));
    if (!data) throw std::bad_alloc();
    if (size_ > 0) std::memcpy(data.get(), data_.get(), size_);
    data_ = std::move(data);
    capacity_ = capacity - kSlack;
  }
  size_ = size;
  if (data_) std::memset(data_.get() + size_, 0, kSlack);
}

void Body::append(std::string_view bytes) {
  if (bytes.empty()) return;
  const std::size_t before = size_;
  if (before + bytes.size() > capacity_) {
    resize(std::max(2 * capacity_, before + bytes.size()));
    size_ = before;
  }
  resize(before + bytes.size());
  std::memcpy(data_.get() + before, bytes.data(), bytes.size());
}

bool same_name(std::string_view a, std::string_view b) {
  return a.size() == b.size() &&
         std::equal(a.begin(), a.end(), b.begin(), [](char x, char y) { return lower(x) == lower(y); });
}

std::string_view Request::header(std::string_view name) const {
  for (const Field& field : fields) {
    if (same_name(field.name, name)) return field.value;
  }
  return {};
}

bool Request::has_header(std::string_view name) const {
  return std::any_of(fields.begin(), fields.end(), [&](const Field& field) { return same_name(field.name, name); });
}

std::optional<std::string> Request::query(std::string_view name) const { return query_value(raw_query, name); }

std::size_t Response::body_size() const {
  std::size_t size = 0;
  for (const Buffer& buffer : body) size += buffer.view().size();
  return size;
}

Response json_response(unsigned status, std::string json) {
  Response response;
  response.status = status;
  response.body.emplace_back(std::move(json));
  return response;
}

Response error_response(unsigned status, std::string_view message) {
  return json_response(status, "{\"error\":" + json_string(message) + "}");
}

std::string json_string(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : printable(text)) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + '"';
}

std::string_view reason_phrase(unsigned status) {
  for (const Reason& reason : kReasons) {
    if (reason.status == status) return reason.phrase;
  }
  return "Status";
}

Response response_to_exception() {
  try {
    throw;
  } catch (const StatusError& error) {
    Response response = error_response(error.status(), error.what());
    response.headers = error.headers();
    return response;
  } catch (const Error& error) {
    const bool theirs = error.code() == ErrorCode::usage || error.code() == ErrorCode::data;
    return error_response(theirs ? 400 : 500, error.what());
  } catch (const std::bad_alloc&) {
    return error_response(503, "out of memory");
  } catch (const std::exception& error) {
    return error_response(500, error.what());
  } catch (...) {
    return error_response(500, "unknown error");
  }
}

}  // namespace lockring::app::http
