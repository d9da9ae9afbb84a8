// From bytes to a request: the head by Boost.Beast's parser, with stricter rules around it.
//
// What RFC 9112 leaves to the reader's mercy is refused, because two programs in a row that differ in where a request
// ends let one client speak in another's name (section 11.2): bare LF, folded lines, repeated or doubtful
// Content-Length, Transfer-Encoding other than "chunked", both of them at once, no or several Host.
#pragma once

#include "apps/http/message.h"

#include <cstdint>
#include <memory>
#include <string_view>

namespace lockring::app::http {

// "0\r\n\r\n", the least that a chunked body still lacks before it ends. Beast is not given less: it does not take up a
// last chunk that it left unfinished.
inline constexpr std::size_t kShortestEnd = 5;

// How a request's body comes and what its head says of the connection.
struct Framing {
  std::uint64_t content_length = 0;
  bool chunked = false;
  bool keep_alive = true;
  bool expects_continue = false;
};

// One after the other for the requests of a connection. Every function throws StatusError for what the client did
// wrong.
class RequestParser {
 public:
  static constexpr std::size_t kMaxHead = 64 * 1024;
  static constexpr std::size_t kMaxTarget = 8 * 1024;
  static constexpr std::size_t kMaxFields = 100;

  RequestParser();
  ~RequestParser();

  // `bytes` is all that has come of the connection since the last request, with no empty lines in front; call again
  // when there is more. The length of the head, 0 if its end is not there yet.
  std::size_t find_head(std::string_view bytes);
  // `head` is what find_head has found; the request gets a copy of it.
  Framing parse(std::string_view head, Request& request);
  // After a head that said `chunked`: takes what `bytes` has of the chunks into `body`, which may grow to `most` bytes.
  // Returns how many bytes were used; those left are to be given again with more behind them, until done().
  std::size_t take_chunks(std::string_view bytes, Body& body, std::size_t most);
  bool done() const;

 private:
  struct Impl;
  std::size_t scanned_ = 0;     // of the head, up to the last line end
  std::size_t line_begin_ = 0;  // of the line that scanned_ is in
  std::unique_ptr<Impl> impl_;
};

}  // namespace lockring::app::http
