#include "apps/http/exchange.h"

#include "apps/http/connection.h"
#include "apps/http/event_loop.h"

namespace lockring::app::http {

// The connection is told by a task of its own, since this exchange is no more.
Exchange::~Exchange() {
  if (sent_.load()) return;
  const std::shared_ptr<EventLoop> loop = loop_.lock();
  if (!loop) return;
  loop->post([connection = connection_, exchange = this] {
    if (const auto alive = connection.lock()) alive->answer(exchange, error_response(500, "the request was dropped"));
  });
}

void Exchange::send(Response response) {
  if (sent_.exchange(true)) return;
  on_gone({});  // what it holds is not needed any more
  const std::shared_ptr<EventLoop> loop = loop_.lock();
  if (!loop) return;
  if (loop->is_current()) {
    if (const auto connection = connection_.lock()) connection->answer(this, std::move(response));
    return;
  }
  loop->post([self = shared_from_this(), response = std::make_shared<Response>(std::move(response))] {
    if (const auto connection = self->connection_.lock()) connection->answer(self.get(), std::move(*response));
  });
}

void Exchange::on_gone(std::function<void()> callback) {
  {
    const std::lock_guard lock(mutex_);
    if (!gone()) {
      callback_ = std::move(callback);
      return;
    }
  }
  if (callback) callback();
}

void Exchange::mark_gone() {
  std::function<void()> callback;
  {
    const std::lock_guard lock(mutex_);
    gone_.store(true);
    callback = std::move(callback_);
  }
  if (callback) callback();
}

void Responder::send(Response response) const { exchange_->send(std::move(response)); }
bool Responder::gone() const { return exchange_->gone(); }
void Responder::on_gone(std::function<void()> callback) const { exchange_->on_gone(std::move(callback)); }

}  // namespace lockring::app::http
