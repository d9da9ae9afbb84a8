// From bytes to a response, by Boost.Beast's parser: what a client reads.
#pragma once

#include "apps/http/message.h"

#include <memory>
#include <string_view>

namespace lockring::app::http {

// A response as a server sent it.
struct Received {
  unsigned status = 0;
  bool keep_alive = false;
  std::vector<Header> fields;  // in the order they came
  Body body;                   // without transfer coding

  // The first field of that name, "" if there is none. Case does not matter.
  std::string_view header(std::string_view name) const;
  std::string_view content_length() const { return header("Content-Length"); }
};

// Responses of one connection, one after the other. Interim ones (1xx) are passed over.
class ResponseParser {
 public:
  static constexpr std::size_t kMaxHead = 64 * 1024;

  ResponseParser();
  ~ResponseParser();

  // The next is a response to HEAD (which has no body) or not, of at most `most` bytes of body.
  void begin(bool to_head, std::size_t most);
  // Takes what `bytes` has of the response; returns how many were used. Those left are to be given again with more
  // behind them, until done(). Throws Error{device} for what is no response or too large.
  std::size_t take(std::string_view bytes);
  // The connection has ended: done() if that is how the response says it ends, else throws Error{device}.
  void take_end();
  bool done() const;
  // What has been read so far.
  Received& received();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace lockring::app::http
