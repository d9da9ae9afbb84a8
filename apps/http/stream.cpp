#include "apps/http/stream.h"

#include "apps/http/tls.h"
#include "core/error.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl.hpp>

#include <fcntl.h>
#include <sys/socket.h>

#include <array>
#include <vector>

namespace lockring::app::http {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;
using Socket = asio::ip::tcp::socket;

Socket adopt(asio::io_context& io, int fd) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size);
  Socket socket(io);
  socket.assign(address.ss_family == AF_INET6 ? asio::ip::tcp::v6() : asio::ip::tcp::v4(), fd);
  error_code ignored;
  socket.non_blocking(true, ignored);
  socket.set_option(asio::ip::tcp::no_delay(true), ignored);
  return socket;
}

// What TCP and TLS have in common: reading, and writing all of several parts. Derived gives layer(), what to read from
// and write to.
template <class Derived>
class StreamBase : public Stream, public std::enable_shared_from_this<Derived> {
 public:
  void read_some(StreamUser& user, std::span<char> into) override {
    derived().layer().async_read_some(asio::buffer(into.data(), into.size()),
                                      [self = this->shared_from_this(), user = user.shared_from_this()](
                                          error_code error, std::size_t bytes) { user->on_read(error ? 0 : bytes); });
  }

  bool write(StreamUser& user, std::span<const std::string_view> parts) override {
    pending_.clear();
    for (const std::string_view part : parts) {
      if (!part.empty()) pending_.emplace_back(part.data(), part.size());
    }
    next_ = 0;
    error_code error;
    if (derived().write_now(error)) return true;
    if (error) {
      asio::post(derived().layer().get_executor(),
                 [self = this->shared_from_this(), user = user.shared_from_this()] { user->on_written(false); });
    } else {
      write_more(user);
    }
    return false;
  }

 protected:
  Derived& derived() { return static_cast<Derived&>(*this); }
  std::span<const asio::const_buffer> pending() const { return std::span(pending_).subspan(next_); }

  // Forgets `bytes` of what is pending; true if nothing is left.
  bool consume(std::size_t bytes) {
    while (next_ < pending_.size() && bytes >= pending_[next_].size()) bytes -= pending_[next_++].size();
    if (next_ < pending_.size()) pending_[next_] += bytes;
    return next_ == pending_.size();
  }

 private:
  void write_more(StreamUser& user) {
    derived().layer().async_write_some(
        derived().next_write(),
        [self = this->shared_from_this(), user = user.shared_from_this()](error_code error, std::size_t bytes) {
          if (error) return user->on_written(false);
          if (self->consume(bytes)) return user->on_written(true);
          user->on_progress();
          self->write_more(*user);
        });
  }

  std::vector<asio::const_buffer> pending_;
  std::size_t next_ = 0;
};

// Calls `then` with whether the connection that is being made was made.
template <class Then>
void wait_for_connection(Socket& socket, Then then) {
  socket.async_wait(Socket::wait_write, [&socket, then = std::move(then)](error_code error) {
    int reason = 0;
    socklen_t size = sizeof reason;
    const bool ok = !error && ::getsockopt(socket.native_handle(), SOL_SOCKET, SO_ERROR, &reason, &size) == 0;
    then(ok && reason == 0);
  });
}

class TcpStream final : public StreamBase<TcpStream> {
 public:
  TcpStream(asio::io_context& io, int fd) : socket_(adopt(io, fd)) {}

  Socket& layer() { return socket_; }

  void handshake(StreamUser& user) override {
    wait_for_connection(
        socket_, [self = shared_from_this(), user = user.shared_from_this()](bool ok) { user->on_handshake(ok); });
  }

  // What the socket's buffer takes without waiting.
  bool write_now(error_code& error) {
    const std::size_t bytes = socket_.write_some(next_write(), error);
    if (error == asio::error::would_block || error == asio::error::try_again) error = {};
    return !error && consume(bytes);
  }

  // A gather-write takes 64 parts at most.
  std::span<const asio::const_buffer> next_write() const { return pending(); }

  void shutdown_write() override {
    error_code ignored;
    socket_.shutdown(Socket::shutdown_send, ignored);
  }

  void close() override {
    error_code ignored;
    socket_.close(ignored);
  }

 private:
  Socket socket_;
};

// A record of TLS is made of contiguous bytes: small parts are gathered first.
class TlsStream final : public StreamBase<TlsStream> {
 public:
  TlsStream(asio::io_context& io, int fd, TlsContext& tls, const std::string& host)
      : stream_(adopt(io, fd), tls.context()), is_server_(host.empty()) {
    if (is_server_) return;
    stream_.set_verify_callback(asio::ssl::host_name_verification(host));
    error_code no_address;
    asio::ip::make_address(host, no_address);
    if (no_address) SSL_set_tlsext_host_name(stream_.native_handle(), host.c_str());  // names only (RFC 6066)
  }

  asio::ssl::stream<Socket>& layer() { return stream_; }

  void handshake(StreamUser& user) override {
    if (is_server_) return shake_hands(user);
    wait_for_connection(stream_.next_layer(), [self = shared_from_this(), user = user.shared_from_this()](bool ok) {
      ok ? self->shake_hands(*user) : user->on_handshake(false);
    });
  }

  void shake_hands(StreamUser& user) {
    stream_.async_handshake(is_server_ ? asio::ssl::stream_base::server : asio::ssl::stream_base::client,
                            [self = shared_from_this(), user = user.shared_from_this()](error_code error) {
                              if (error && ERR_GET_REASON(error.value()) == SSL_R_HTTP_REQUEST) self->say_https();
                              user->on_handshake(!error);
                            });
  }

  bool write_now(error_code&) { return pending().empty(); }

  asio::const_buffer next_write() {
    const auto parts = pending();
    if (parts.size() == 1 || parts[0].size() >= gathered_.size()) return parts[0];
    return asio::buffer(gathered_, asio::buffer_copy(asio::buffer(gathered_), parts));
  }

  void shutdown_write() override {
    stream_.async_shutdown([self = shared_from_this()](error_code) {});
  }

  void close() override {
    error_code ignored;
    stream_.next_layer().close(ignored);
  }

 private:
  // To a client that speaks HTTP to this port.
  void say_https() {
    error_code ignored;
    stream_.next_layer().write_some(
        asio::buffer(std::string_view("HTTP/1.1 400 Bad Request\r\nContent-Type: application/json\r\n"
                                      "Content-Length: 45\r\nConnection: close\r\n\r\n"
                                      "{\"error\":\"this port speaks HTTPS, not HTTP\"} \n")),
        ignored);
    stream_.next_layer().shutdown(Socket::shutdown_send, ignored);
  }

  asio::ssl::stream<Socket> stream_;
  bool is_server_;
  std::array<char, 16 * 1024> gathered_;
};

}  // namespace

std::shared_ptr<Stream> make_stream(asio::io_context& io, int fd, TlsContext* tls, const std::string& host) {
  if (tls) return std::make_shared<TlsStream>(io, fd, *tls, host);
  return std::make_shared<TcpStream>(io, fd);
}

}  // namespace lockring::app::http
