// An HTTP/1.1 server: event loops, connections and all the guards that a server in the open needs.
//
// Each event loop is one thread; a connection belongs to one loop for all its life, the one that had the fewest
// when it came. A connection has one request at a time at the handler; what the client sends ahead waits. Everything
// the server answers of its own accord is {"error": ...}: requests that are malformed or ambiguous (RFC 9112, section
// 11.2), too large, too slow, or too many.
#pragma once

#include "apps/http/message.h"
#include "apps/http/responder.h"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace lockring::app::http {

// Runs on the event loop of the connection, which it holds up as long as it runs: it answers at once, or keeps the
// responder. What it throws becomes a response (response_to_exception).
using Handler = std::function<void(Request&&, Responder)>;

// One answered (or abandoned) request, for an access log.
struct Completed {
  std::string method, target, peer, id;
  unsigned status = 0;  // 0: the client went before it was answered
  std::size_t bytes_in = 0, bytes_out = 0;
  double seconds = 0;  // from the head's last byte to the response's last byte
};

struct ServerOptions {
  std::string address = "127.0.0.1";  // to listen on; "0.0.0.0" or "::" is every interface
  int port = 0;                       // 0: any that is free
  int threads = 0;                    // event loops; 0: one for each usable core
  std::string certificate;            // PEM files; both or neither. With them the server speaks TLS 1.2 and 1.3 only
  std::string key;

  // The largest body that a request for this method and path may have, in bytes.
  std::function<std::size_t(std::string_view method, std::string_view path)> max_body;
  // Called when a head has been read and its body has not: a response refuses the request, and the body is not even
  // asked for. The place for API keys.
  std::function<std::optional<Response>(const Request& head)> admit;
  // Called on the event loop after each response is written.
  std::function<void(const Completed&)> on_complete;
  bool decode_bodies = true;  // undo Content-Encoding gzip and deflate, within max_body

  std::chrono::milliseconds header_timeout{10'000};  // from the first byte of a head to its last; and the TLS handshake
  std::chrono::milliseconds body_timeout{
      30'000};  // from a body's first byte to its last, and 1 s more per 64 KiB that came
  std::chrono::milliseconds write_timeout{30'000};  // without a byte that the client takes
  std::chrono::milliseconds idle_timeout{75'000};   // between requests; more than load balancers keep theirs
  int max_connections = 10'000;  // more are refused with 503; also bounded by the limit of open files
};

// What an event loop tells whom it calls.
struct LoopStatus {
  int index = 0;        // 0 to threads - 1
  int connections = 0;  // open ones of this loop
  int in_flight = 0;    // requests of this loop at the handler or its engine, not yet answered; this one included
  int ready = 0;        // requests that have been read whole and that the handler will be called with after this one
};
// Of the event loop whose thread this is; nullptr on other threads. in_flight == 1 and ready == 0 is a loop with
// nothing else to do.
const LoopStatus* current_loop();

// Since the server began; all of them together.
struct Counters {
  std::int64_t accepted = 0;   // connections
  std::int64_t open = 0;       // connections, now
  std::int64_t refused = 0;    // connections, for want of room
  std::int64_t requests = 0;   // heads that were read whole
  std::int64_t in_flight = 0;  // requests not yet answered, now
  std::int64_t bad = 0;        // requests that the server answered with 4xx of its own accord
  std::int64_t timeouts = 0;   // connections closed because the client was too slow
  std::int64_t gone = 0;       // clients that went before they were answered
  std::int64_t bytes_in = 0;
  std::int64_t bytes_out = 0;
};

// All calls from one thread, but for counters().
class Server {
 public:
  // Listens at once, so that port() is known, and answers from start() on. Throws Error{usage} for an address that
  // cannot be listened on, Error{data} for a certificate or key that cannot be used.
  Server(ServerOptions options, Handler handler);
  ~Server();  // stop()
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  int port() const;
  void start();
  // Accepts no more connections, closes those that are idle, ends each other one with its next response; returns true
  // when none is left, false when `deadline` came first. Those that were served a moment ago are given a quarter of a
  // second to come back and be told, so that no request crosses with the close.
  bool drain(std::chrono::steady_clock::time_point deadline);
  // Closes what is still open and joins the threads. Responders that are left do nothing from then on.
  void stop();
  Counters counters() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace lockring::app::http
