#include "apps/http/fetch.h"

#include "apps/http/client_connection.h"
#include "core/error.h"

#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>

namespace lockring::app::http {
namespace {

// 0, or the reason why there is no connection.
int try_connect(const Address& address, std::chrono::milliseconds patience) {
  const int fd = begin_connect(address);
  if (fd < 0) return errno;
  pollfd wait{fd, POLLOUT, 0};
  int reason = ETIMEDOUT;
  socklen_t size = sizeof reason;
  if (::poll(&wait, 1, static_cast<int>(patience.count())) > 0) ::getsockopt(fd, SOL_SOCKET, SO_ERROR, &reason, &size);
  ::close(fd);
  return reason;
}

struct Question {
  std::string_view method;
  const std::string& target;
  const std::vector<Header>& headers;
  std::string_view body;
};

// On a connection of its own.
Received send_once(const Destination& destination, const Url& url, const Question& question,
                   std::chrono::milliseconds patience) {
  std::string head = fmt::format("{} {} HTTP/1.1\r\nHost: {}\r\n", question.method, question.target, url.authority());
  for (const Header& header : question.headers) head += fmt::format("{}: {}\r\n", header.name, header.value);
  head += "Connection: close\r\n\r\n";
  ClientLoop loop;
  std::optional<Received> answer;
  Outcome how = Outcome::late;
  const auto connection = ClientConnection::open(loop, destination);
  const std::array<std::string_view, 2> parts = {head, question.body};
  connection->exchange(std::span(parts).first(question.body.empty() ? 1 : 2), false,
                       ClientLoop::Clock::now() + patience, [&](Outcome outcome, Received& received) {
                         how = outcome;
                         if (outcome == Outcome::answered) answer = std::move(received);
                         loop.stop();
                       });
  loop.run();
  const char* tls = destination.tls ? " (or its certificate is not trusted)" : "";
  check(answer.has_value(), ErrorCode::device, "{} does not answer {} {}{}", url.authority(), question.method,
        question.target, how == Outcome::late ? " in time" : tls);
  return std::move(*answer);
}

}  // namespace

Destination find_server(const Url& url, std::shared_ptr<TlsContext> tls, std::chrono::milliseconds patience) {
  int reason = 0;
  for (const Address& address : resolve(url.host, url.port)) {
    reason = try_connect(address, patience);
    if (reason == 0) return {address, url.tls ? std::move(tls) : nullptr, url.host};
  }
  fail(ErrorCode::device, "cannot connect to {}: {}", url.authority(), std::strerror(reason));
}

Received fetch(const Destination& destination, const Url& url, const std::string& target,
               const std::vector<Header>& headers, std::chrono::milliseconds patience) {
  return send_once(destination, url, {"GET", target, headers, {}}, patience);
}

Received post(const Destination& destination, const Url& url, const std::string& target,
              const std::vector<Header>& headers, std::string_view body, std::chrono::milliseconds patience) {
  std::vector<Header> all = headers;
  all.push_back({"Content-Length", std::to_string(body.size())});
  return send_once(destination, url, {"POST", target, all, body}, patience);
}

}  // namespace lockring::app::http
