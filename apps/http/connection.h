// One client's connection on the server's side: reads a request, has it handled, writes the response, and begins again.
#pragma once

#include "apps/http/event_loop.h"
#include "apps/http/exchange.h"
#include "apps/http/request_parser.h"
#include "apps/http/stream.h"

#include <memory>
#include <string>
#include <vector>

namespace lockring::app::http {

// Belongs to its event loop; all calls on that loop's thread.
class Connection final : public StreamUser {
 public:
  Connection(EventLoop& loop, std::shared_ptr<Stream> stream, std::string peer);
  ~Connection() override;

  // `refuse`: only to say that there are too many connections.
  void begin(bool refuse);
  void run_handler();
  // Writes the response if `exchange` is still the one that is waited for.
  void answer(const Exchange* exchange, Response response);
  // Ends the connection if it has taken too long, or if it is idle and the server is draining.
  void check_time(Clock::time_point now);
  void close();

  void on_handshake(bool ok) override;
  void on_read(std::size_t bytes) override;
  void on_progress() override;
  void on_written(bool ok) override;

  std::size_t place = 0;  // among the loop's connections

 private:
  enum class Phase {
    handshake,  // of TLS
    idle,       // waits for a request's first byte
    head,       // reads a head
    interim,    // writes "100 Continue"
    body,       // reads a body
    ready,      // waits for its turn at the handler
    handler,    // waits for the handler's response
    writing,    // writes the response
    lingering,  // has said its last word and reads until the client has closed: closing with bytes unread would make
                // the kernel break the connection, and the client lose that word
    closed,
  };

  void enter(Phase phase, std::chrono::milliseconds time);
  void read();
  void take_input(bool may_run_now);
  void take_head(std::size_t size, bool may_run_now);
  // Whether the body is worth reading; otherwise the request is refused, by its size or by ServerOptions::admit, and
  // the connection may already be at the next one.
  bool check_head();
  void begin_body(bool may_run_now);
  void take_body(bool may_run_now);
  void reserve_body();
  void read_more_body(std::size_t so_far);
  void finish_request(bool may_run_now);
  void take_end();
  void next_request();

  // Answers of its own accord, and ends the connection.
  void refuse(unsigned status, std::string_view message);
  void refuse(Response response);
  void write_response(Response response);
  void write_head();
  void finish_response();
  void linger();

  std::string_view input() const { return {buffer_.data() + begin_, end_ - begin_}; }
  void skip_input(std::size_t bytes);

  EventLoop& loop_;
  std::shared_ptr<Stream> stream_;
  std::string peer_;
  Phase phase_ = Phase::handshake;
  Clock::time_point deadline_{};
  Clock::time_point idle_since_{};
  bool reading_ = false;      // a read is under way ...
  bool into_body_ = false;    // ... straight into the body
  bool ended_ = false;        // the client will send no more
  bool refused_ = false;      // a request was not read to its end
  bool close_after_ = false;  // this response is the last

  std::vector<char> buffer_;  // what was read and not used is in [begin_, end_)
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  std::size_t lingered_ = 0;

  RequestParser parser_;
  Framing framing_;
  Request request_;
  Clock::time_point body_began_{};
  std::size_t most_ = 0;       // bytes that the body may have
  std::size_t body_read_ = 0;  // of content_length

  std::weak_ptr<Exchange> exchange_;  // its responders keep it, so that it is known when they are no more
  const Exchange* waited_for_ = nullptr;
  Response response_;
  std::string head_;  // of the response
  std::vector<std::string_view> parts_;
  bool is_head_request_ = false;
  bool http11_ = true;
  std::string id_;
  Clock::time_point started_{};
  Completed completed_;
};

}  // namespace lockring::app::http
