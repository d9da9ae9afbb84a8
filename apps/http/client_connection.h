// One connection to a server: sends requests, reads responses.
#pragma once

#include "apps/http/address.h"
#include "apps/http/client_loop.h"
#include "apps/http/response_parser.h"
#include "apps/http/stream.h"

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace lockring::app::http {

// Whom to connect to. `tls` nullptr is plain HTTP; `host` is what a certificate has to say.
struct Destination {
  Address address;
  std::shared_ptr<TlsContext> tls;
  std::string host;
};

// How an exchange ended.
enum class Outcome {
  answered,
  not_connected,  // there is no connection: the server has seen nothing
  closed,         // the connection ended before a byte of the response had come
  broken,         // it ended, or made no sense, in the middle of the response
  late,           // the deadline came first
};

// All calls on the loop's thread. Ends with its last owner or with close().
class ClientConnection final : public StreamUser {
 public:
  using Done = std::function<void(Outcome, Received&)>;

  // Begins to connect. Requests may be given at once. `on_open` is told whether it worked, later.
  static std::shared_ptr<ClientConnection> open(ClientLoop& loop, const Destination& destination,
                                                std::function<void(bool)> on_open = {});
  ~ClientConnection() override;

  // Sends a request whose bytes are `parts`, which stay until `done` is called: once, never from within this call.
  // One request at a time. Unless it was answered, and with keep-alive, the connection is closed by then.
  void exchange(std::span<const std::string_view> parts, bool is_head, ClientLoop::Clock::time_point deadline,
                Done done);
  // Not to wait for the connection itself beyond that time: then not_connected.
  void limit_connecting(ClientLoop::Clock::time_point time) { connect_by_ = time; }
  // Forgets the request that is under way, without calling its `done`.
  void close();
  // Nothing under way, and not closed by the server as far as is known.
  bool is_idle() const { return state_ != State::closed && !done_; }
  bool is_closed() const { return state_ == State::closed; }
  // How much of a response it reads.
  void set_most(std::size_t most) { most_ = most; }

  void on_handshake(bool ok) override;
  void on_read(std::size_t bytes) override;
  void on_progress() override {}
  void on_written(bool ok) override;

 private:
  friend class ClientLoop;
  enum class State { connecting, open, closed };

  explicit ClientConnection(ClientLoop& loop) : loop_(&loop) {}
  void read();
  void write();
  void fail_with(Outcome outcome);
  void finish(Outcome outcome);
  void close_stream();
  void check_time(ClientLoop::Clock::time_point now);
  void leave_loop();
  void forget_loop();

  ClientLoop* loop_;
  std::shared_ptr<TlsContext> tls_;
  std::shared_ptr<Stream> stream_;
  State state_ = State::connecting;
  bool writing_ = false;
  bool answered_some_ = false;  // a byte of the response has come
  ClientLoop::Clock::time_point deadline_{};
  ClientLoop::Clock::time_point connect_by_ = ClientLoop::Clock::time_point::max();
  Done done_;
  std::function<void(bool)> on_open_;
  std::vector<std::string_view> parts_;
  std::vector<char> buffer_;  // what was read and not used is in [begin_, end_)
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  std::size_t most_ = std::size_t{256} << 20;
  ResponseParser parser_;
};

}  // namespace lockring::app::http
