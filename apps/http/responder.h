// The way back to a client: what a handler answers with, at once or later and from another thread.
#pragma once

#include "apps/http/message.h"

#include <functional>
#include <memory>

namespace lockring::app::http {

class Exchange;

// A handle to one request that waits for its response; copies are the same. May be used from any thread, and may
// outlive the server. When the last copy goes without having sent, the client gets a 500.
class Responder {
 public:
  explicit Responder(std::shared_ptr<Exchange> exchange) : exchange_(std::move(exchange)) {}

  // Once; the calls that follow the first do nothing. On the connection's own event loop it writes at once, elsewhere
  // it hands the response to that loop. Does not wait, does not throw for a client that has gone.
  void send(Response response) const;
  // The client has closed its connection (or the connection broke): nobody waits for the result. One atomic load.
  bool gone() const;
  // Calls `callback`, once, when the client goes before it was answered: on the connection's event loop, or at once
  // when it has gone already. One callback a request; a second takes the place of the first. It must not hold a
  // responder of the same request, which would keep itself alive.
  void on_gone(std::function<void()> callback) const;

 private:
  std::shared_ptr<Exchange> exchange_;
};

}  // namespace lockring::app::http
