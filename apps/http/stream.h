// The bytes of one connection, over TCP or TLS.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace boost::asio {
class io_context;
}

namespace lockring::app::http {

class TlsContext;

// Whom a stream tells what has happened; on the stream's event loop, never from within a call to the stream.
class StreamUser : public std::enable_shared_from_this<StreamUser> {
 public:
  virtual ~StreamUser() = default;
  virtual void on_handshake(bool ok) = 0;
  virtual void on_read(std::size_t bytes) = 0;  // 0: the other side has closed, or the connection broke
  virtual void on_progress() = 0;               // a part of what is being written was taken
  virtual void on_written(bool ok) = 0;
};

// All calls on the event loop's thread. At most one read and one write at a time; each keeps the user and the stream
// alive.
class Stream {
 public:
  virtual ~Stream() = default;
  // A client's side waits until the connection is made; with TLS both sides agree on keys. Then on_handshake.
  virtual void handshake(StreamUser& user) = 0;
  // Then on_read. `into` is not empty and stays until then.
  virtual void read_some(StreamUser& user, std::span<char> into) = 0;
  // Writes all of `parts`, whose bytes (not the span) stay where they are until then. True: done already; otherwise
  // on_written follows.
  virtual bool write(StreamUser& user, std::span<const std::string_view> parts) = 0;
  // Tells the other side that nothing more comes; reading goes on.
  virtual void shutdown_write() = 0;
  // Ends both directions; what is under way calls back with failure.
  virtual void close() = 0;
};

// Takes over the socket `fd`, which is connected or, on a client's side, being connected. With `tls` it speaks TLS;
// `host` is the server that a client checks the certificate for, "" makes it the server's side.
std::shared_ptr<Stream> make_stream(boost::asio::io_context& io, int fd, TlsContext* tls = nullptr,
                                    const std::string& host = "");

}  // namespace lockring::app::http
