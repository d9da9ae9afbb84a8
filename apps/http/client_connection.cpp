#include "apps/http/client_connection.h"

#include "apps/http/tls.h"

#include <algorithm>
#include <cstring>

namespace lockring::app::http {
namespace {

constexpr std::size_t kFirstBuffer = 8 * 1024;
constexpr std::size_t kMostBuffer = 256 * 1024;

}  // namespace

std::shared_ptr<ClientConnection> ClientConnection::open(ClientLoop& loop, const Destination& destination,
                                                         std::function<void(bool)> on_open) {
  std::shared_ptr<ClientConnection> connection(new ClientConnection(loop));
  connection->tls_ = destination.tls;
  connection->on_open_ = std::move(on_open);
  loop.connections_.push_back(connection.get());
  if (!loop.sweeping_) loop.sweep();
  const int fd = begin_connect(destination.address);
  if (fd < 0) {
    loop.post([connection] { connection->on_handshake(false); });
  } else {
    connection->stream_ = make_stream(loop.io(), fd, destination.tls.get(), destination.host);
    connection->stream_->handshake(*connection);
  }
  return connection;
}

ClientConnection::~ClientConnection() { close(); }

void ClientConnection::exchange(std::span<const std::string_view> parts, bool is_head,
                                ClientLoop::Clock::time_point deadline, Done done) {
  parts_.assign(parts.begin(), parts.end());
  done_ = std::move(done);
  deadline_ = deadline;
  answered_some_ = false;
  parser_.begin(is_head, most_);
  if (state_ == State::open) write();
  if (state_ == State::closed && loop_) {
    loop_->post([self = std::static_pointer_cast<ClientConnection>(shared_from_this())] {
      self->finish(Outcome::not_connected);
    });
  }
}

void ClientConnection::write() { writing_ = !stream_->write(*this, parts_); }

void ClientConnection::on_handshake(bool ok) {
  if (state_ != State::connecting) return;
  const auto self = shared_from_this();
  if (const auto on_open = std::exchange(on_open_, nullptr)) on_open(ok);
  if (!ok) return fail_with(Outcome::not_connected);
  state_ = State::open;
  read();
  if (done_) write();
}

// Always under way, also between requests, to see the server close.
void ClientConnection::read() {
  if (begin_ == end_) begin_ = end_ = 0;
  if (end_ == buffer_.size()) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= std::exchange(begin_, 0);
    if (end_ == buffer_.size()) buffer_.resize(std::max(kFirstBuffer, 4 * buffer_.size()));
    if (buffer_.size() > kMostBuffer) return fail_with(Outcome::broken);
  }
  stream_->read_some(*this, {buffer_.data() + end_, buffer_.size() - end_});
}

void ClientConnection::on_read(std::size_t bytes) {
  if (state_ == State::closed) return;
  end_ += bytes;
  if (!done_) return close();  // closed by the server, or it says what nobody asked for
  answered_some_ = answered_some_ || bytes > 0;
  try {
    if (bytes == 0) {
      if (!answered_some_) return fail_with(Outcome::closed);
      parser_.take_end();
    } else {
      begin_ += parser_.take({buffer_.data() + begin_, end_ - begin_});
    }
  } catch (const Error&) {
    return fail_with(Outcome::broken);
  }
  const auto self = shared_from_this();
  if (parser_.done()) {
    if (bytes == 0 || writing_ || begin_ != end_ || !parser_.received().keep_alive) close_stream();
    finish(Outcome::answered);
  }
  if (state_ == State::open) read();
}

void ClientConnection::on_written(bool ok) {
  writing_ = false;
  // A server that refuses a body answers and closes: what it says is still to be read.
  if (!ok && state_ == State::open && !done_) close();
}

void ClientConnection::fail_with(Outcome outcome) {
  const auto self = shared_from_this();
  close_stream();
  finish(outcome);
}

void ClientConnection::finish(Outcome outcome) {
  if (const Done done = std::exchange(done_, nullptr)) done(outcome, parser_.received());
}

void ClientConnection::close_stream() {
  if (state_ == State::closed) return;
  state_ = State::closed;
  if (stream_) stream_->close();
  leave_loop();
}

void ClientConnection::close() {
  close_stream();
  done_ = nullptr;
}

void ClientConnection::check_time(ClientLoop::Clock::time_point now) {
  if (state_ == State::connecting && now >= connect_by_) return fail_with(Outcome::not_connected);
  if (done_ && now >= deadline_) fail_with(Outcome::late);
}

void ClientConnection::leave_loop() {
  if (loop_) std::erase(loop_->connections_, this);
}

void ClientConnection::forget_loop() {
  loop_ = nullptr;
  close();
  stream_.reset();  // which the loop's sockets have to go before
}

}  // namespace lockring::app::http
