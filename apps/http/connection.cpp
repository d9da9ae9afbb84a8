#include "apps/http/connection.h"

#include "apps/http/compression.h"
#include "apps/http/request_id.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace lockring::app::http {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t kFirstBuffer = 4 * 1024;
constexpr std::size_t kUsualBuffer = 16 * 1024;  // a head and a small body are read by one call
constexpr std::size_t kMostBuffer = RequestParser::kMaxHead + 4 * 1024;
constexpr std::size_t kMostBody = 64 * 1024 * 1024;  // unless the options say
constexpr std::size_t kFirstBody = 1024 * 1024;      // what is announced is believed up to here
constexpr std::size_t kBodyRate = 64;                // bytes a millisecond, the least that a long upload has to reach
constexpr std::size_t kMostLingered = 64 * 1024 * 1024;
constexpr auto kLingerTime = milliseconds(2000);      // when more of the request is on its way
constexpr auto kShortLingerTime = milliseconds(250);  // when only what was sent ahead may be
constexpr auto kDrainGrace = milliseconds(250);

bool has_no_body(unsigned status) { return status == 204 || status == 304 || status < 200; }

// Nothing in a field may end its line.
void append_field(std::string& head, std::string_view name, std::string_view value) {
  head.append(name).append(": ");
  for (const char c : value) head += static_cast<unsigned char>(c) < 0x20 && c != '\t' ? ' ' : c;
  head.append("\r\n");
}

}  // namespace

Connection::Connection(EventLoop& loop, std::shared_ptr<Stream> stream, std::string peer)
    : loop_(loop), stream_(std::move(stream)), peer_(std::move(peer)) {}

Connection::~Connection() = default;

void Connection::enter(Phase phase, milliseconds time) {
  phase_ = phase;
  deadline_ = Clock::now() + time;
}

void Connection::begin(bool refuse_it) {
  idle_since_ = Clock::now();
  enter(Phase::handshake, loop_.shared().options.header_timeout);
  if (loop_.shared().tls) return refuse_it ? close() : stream_->handshake(*this);
  on_handshake(true);
  if (refuse_it) refuse(503, "too many connections");
}

void Connection::on_handshake(bool ok) {
  if (phase_ != Phase::handshake) return;
  if (!ok) return close();
  enter(Phase::idle, loop_.shared().options.header_timeout);
  read();
}

void Connection::skip_input(std::size_t bytes) {
  begin_ += bytes;
  if (begin_ == end_) begin_ = end_ = 0;
}

void Connection::read() {
  if (reading_ || ended_ || phase_ == Phase::closed) return;
  into_body_ = phase_ == Phase::body && !framing_.chunked;
  if (into_body_) {
    reading_ = true;
    return stream_->read_some(*this, {request_.body.data() + body_read_, request_.body.size() - body_read_});
  }
  if (end_ == buffer_.size() && begin_ > 0) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= std::exchange(begin_, 0);
  }
  if (end_ == buffer_.size()) {
    if (buffer_.size() >= kMostBuffer) return;  // sent ahead: it waits in the socket
    buffer_.resize(buffer_.empty() ? kFirstBuffer : std::clamp(4 * buffer_.size(), kUsualBuffer, kMostBuffer));
  }
  reading_ = true;
  stream_->read_some(*this, {buffer_.data() + end_, buffer_.size() - end_});
}

void Connection::on_read(std::size_t bytes) {
  reading_ = false;
  if (phase_ == Phase::closed) return;
  if (bytes == 0) return take_end();
  add(loop_.counters.bytes_in, static_cast<std::int64_t>(bytes));
  if (phase_ == Phase::lingering) {
    lingered_ += bytes;
    begin_ = end_ = 0;
    return lingered_ > kMostLingered ? close() : read();
  }
  (into_body_ ? body_read_ : end_) += bytes;
  take_input(true);
}

// What has come is used as far as the phase allows, and the next read begun.
void Connection::take_input(bool may_run_now) {
  try {
    if (phase_ == Phase::idle) {
      while (begin_ < end_ && input().starts_with("\r\n")) skip_input(2);  // RFC 9112, section 2.2
      if (begin_ < end_) enter(Phase::head, loop_.shared().options.header_timeout);
    }
    if (phase_ == Phase::head) {
      if (const std::size_t size = parser_.find_head(input())) return take_head(size, may_run_now);
    } else if (phase_ == Phase::body) {
      return take_body(may_run_now);
    }
    read();
  } catch (...) {
    refuse(response_to_exception());
  }
}

void Connection::take_head(std::size_t size, bool may_run_now) {
  started_ = Clock::now();
  request_ = Request();
  framing_ = parser_.parse(input().substr(0, size), request_);
  skip_input(size);
  add(loop_.counters.requests, 1);
  request_.peer = peer_;
  request_.id = id_ = request_id(request_.header("x-request-id"));
  http11_ = request_.http11;
  is_head_request_ = request_.method == "HEAD";
  close_after_ = !framing_.keep_alive;
  if (loop_.shared().options.on_complete) {
    completed_ = {std::string(request_.method), std::string(request_.target), peer_, id_};
    completed_.bytes_in = size;
  }
  if (check_head()) begin_body(may_run_now);
}

bool Connection::check_head() {
  const ServerOptions& options = loop_.shared().options;
  const bool has_body = framing_.content_length > 0 || framing_.chunked;
  std::optional<Response> refusal = options.admit ? options.admit(request_) : std::nullopt;
  if (refusal && has_body) {
    refuse(std::move(*refusal));
  } else if (refusal) {
    // Nothing of the request is left to read: the connection can go on.
    ++loop_.status.in_flight;
    add(loop_.counters.in_flight, 1);
    write_response(std::move(*refusal));
  } else {
    most_ = options.max_body ? options.max_body(request_.method, request_.path) : kMostBody;
    if (framing_.content_length <= most_) return true;
    refuse(413, fmt::format("the body of {} bytes is larger than {}", framing_.content_length, most_));
  }
  return false;
}

void Connection::begin_body(bool may_run_now) {
  body_read_ = 0;
  if (framing_.content_length == 0 && !framing_.chunked) return finish_request(may_run_now);
  body_began_ = Clock::now();
  if (framing_.expects_continue && begin_ == end_) {
    enter(Phase::interim, loop_.shared().options.write_timeout);
    parts_ = {"HTTP/1.1 100 Continue\r\n\r\n"};
    if (!stream_->write(*this, parts_)) return;
  }
  phase_ = Phase::body;
  take_body(may_run_now);
}

// Grows with what has come, so that an announcement alone costs little.
void Connection::reserve_body() {
  const std::size_t step = std::max(kFirstBody, 2 * body_read_);
  request_.body.resize(std::min<std::size_t>(framing_.content_length, step));
}

void Connection::take_body(bool may_run_now) {
  if (framing_.chunked) {
    skip_input(parser_.take_chunks(input(), request_.body, most_));
    return parser_.done() ? finish_request(may_run_now) : read_more_body(request_.body.size());
  }
  if (body_read_ == request_.body.size()) reserve_body();
  const std::size_t here = std::min(end_ - begin_, request_.body.size() - body_read_);
  if (here > 0) {
    std::memcpy(request_.body.data() + body_read_, input().data(), here);
    body_read_ += here;
    skip_input(here);
  }
  if (body_read_ == framing_.content_length) return finish_request(may_run_now);
  if (body_read_ == request_.body.size()) reserve_body();
  read_more_body(body_read_);
}

// What has come buys time for more.
void Connection::read_more_body(std::size_t so_far) {
  deadline_ = body_began_ + loop_.shared().options.body_timeout + milliseconds(so_far / kBodyRate);
  read();
}

void Connection::finish_request(bool may_run_now) {
  completed_.bytes_in += request_.body.size();
  if (loop_.shared().options.decode_bodies) decode_body(request_, most_);
  phase_ = Phase::ready;
  loop_.enqueue(std::static_pointer_cast<Connection>(shared_from_this()), may_run_now);
}

void Connection::run_handler() {
  if (phase_ != Phase::ready) return;
  phase_ = Phase::handler;
  deadline_ = Clock::time_point::max();
  ++loop_.status.in_flight;
  add(loop_.counters.in_flight, 1);
  const auto self = std::static_pointer_cast<Connection>(shared_from_this());
  const auto exchange = std::make_shared<Exchange>(loop_.weak_from_this(), self);
  exchange_ = exchange;
  waited_for_ = exchange.get();
  try {
    loop_.shared().handler(std::move(request_), Responder(exchange));
  } catch (...) {
    exchange->send(response_to_exception());
  }
  if (waited_for_ == exchange.get()) read();  // to see the client go
}

void Connection::take_end() {
  ended_ = true;
  switch (phase_) {
    case Phase::body:
      return refuse(400, "the connection ended in the middle of the body");
    case Phase::handler:
      add(loop_.counters.gone, 1);
      if (const auto exchange = exchange_.lock()) exchange->mark_gone();
      return;
    case Phase::interim:
    case Phase::ready:
    case Phase::writing:
      return;  // ends behind the response
    default:
      return close();
  }
}

void Connection::answer(const Exchange* exchange, Response response) {
  if (waited_for_ != exchange) return;
  waited_for_ = nullptr;
  write_response(std::move(response));
}

void Connection::refuse(unsigned status, std::string_view message) { refuse(error_response(status, message)); }

void Connection::refuse(Response response) {
  if (phase_ == Phase::writing || phase_ == Phase::lingering || phase_ == Phase::closed) return;
  close_after_ = refused_ = true;
  add(loop_.counters.bad, 1);
  ++loop_.status.in_flight;
  add(loop_.counters.in_flight, 1);
  write_response(std::move(response));
}

void Connection::write_response(Response response) {
  enter(Phase::writing, loop_.shared().options.write_timeout);
  response_ = std::move(response);
  if (loop_.draining() || ended_) close_after_ = true;
  write_head();
  parts_.assign(1, head_);
  if (!is_head_request_ && !has_no_body(response_.status)) {
    for (const Buffer& buffer : response_.body) parts_.push_back(buffer.view());
  }
  std::size_t bytes = 0;
  for (const std::string_view part : parts_) bytes += part.size();
  add(loop_.counters.bytes_out, static_cast<std::int64_t>(bytes));
  completed_.bytes_out = bytes;
  if (stream_->write(*this, parts_)) finish_response();
}

void Connection::write_head() {
  head_.clear();
  fmt::format_to(std::back_inserter(head_), "HTTP/1.1 {} {}\r\nDate: {}\r\n", response_.status,
                 reason_phrase(response_.status), loop_.date());
  if (!response_.content_type.empty()) append_field(head_, "Content-Type", response_.content_type);
  // A proxy's answer to HEAD knows the length of the body that is not there.
  const bool has_length = is_head_request_ && std::ranges::any_of(response_.headers, [](const Header& header) {
                            return same_name(header.name, "Content-Length");
                          });
  if (!has_no_body(response_.status) && !has_length)
    fmt::format_to(std::back_inserter(head_), "Content-Length: {}\r\n", response_.body_size());
  if (!id_.empty()) append_field(head_, "x-request-id", id_);
  for (const Header& header : response_.headers) append_field(head_, header.name, header.value);
  if (close_after_) {
    head_ += "Connection: close\r\n";
  } else if (!http11_) {
    head_ += "Connection: keep-alive\r\n";
  }
  head_ += "\r\n";
}

void Connection::on_progress() { deadline_ = Clock::now() + loop_.shared().options.write_timeout; }

void Connection::on_written(bool ok) {
  if (phase_ == Phase::interim) {
    if (!ok || ended_) return close();
    phase_ = Phase::body;
    return take_input(true);
  }
  if (phase_ != Phase::writing) return;
  if (!ok) return close();
  finish_response();
}

void Connection::finish_response() {
  --loop_.status.in_flight;
  add(loop_.counters.in_flight, -1);
  if (const auto& on_complete = loop_.shared().options.on_complete) {
    completed_.status = response_.status;
    completed_.seconds = std::chrono::duration<double>(Clock::now() - started_).count();
    on_complete(completed_);
  }
  response_ = Response();
  if (close_after_) return linger();
  next_request();
}

void Connection::next_request() {
  // What is refused before its head is understood is not taken for the request before.
  completed_ = Completed();
  completed_.peer = peer_;
  id_.clear();
  http11_ = true;
  is_head_request_ = false;
  idle_since_ = Clock::now();
  enter(Phase::idle, loop_.shared().options.idle_timeout);
  take_input(false);
}

void Connection::linger() {
  if (ended_) return close();
  enter(Phase::lingering, refused_ ? kLingerTime : kShortLingerTime);
  stream_->shutdown_write();
  begin_ = end_ = 0;
  read();
}

void Connection::close() {
  if (phase_ == Phase::closed) return;
  if (phase_ == Phase::handler || phase_ == Phase::writing) {
    --loop_.status.in_flight;
    add(loop_.counters.in_flight, -1);
  }
  phase_ = Phase::closed;
  stream_->close();
  const auto self = shared_from_this();
  loop_.remove(*this);
  if (std::exchange(waited_for_, nullptr) == nullptr) return;
  if (const auto exchange = exchange_.lock()) exchange->mark_gone();
}

void Connection::check_time(Clock::time_point now) {
  const bool unused = phase_ == Phase::handshake || (phase_ == Phase::idle && begin_ == end_);
  if (loop_.draining() && unused && now - idle_since_ >= kDrainGrace) return close();
  if (now < deadline_) return;
  if (!unused && phase_ != Phase::lingering) add(loop_.counters.timeouts, 1);
  if (phase_ == Phase::head) return refuse(408, "the request's head took too long");
  if (phase_ == Phase::body) return refuse(408, "the request's body took too long");
  close();
}

}  // namespace lockring::app::http
