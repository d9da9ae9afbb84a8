#include "apps/http/fetch.h"

#include "apps/http/client_connection.h"
#include "core/error.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>

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
  std::string text = fmt::format("GET {} HTTP/1.1\r\nHost: {}\r\n", target, url.authority());
  for (const Header& header : headers) text += fmt::format("{}: {}\r\n", header.name, header.value);
  text += "Connection: close\r\n\r\n";
  ClientLoop loop;
  std::optional<Received> answer;
  Outcome how = Outcome::late;
  const auto connection = ClientConnection::open(loop, destination);
  const std::string_view part = text;
  connection->exchange({&part, 1}, false, ClientLoop::Clock::now() + patience,
                       [&](Outcome outcome, Received& received) {
                         how = outcome;
                         if (outcome == Outcome::answered) answer = std::move(received);
                         loop.stop();
                       });
  loop.run();
  const char* tls = destination.tls ? " (or its certificate is not trusted)" : "";
  check(answer.has_value(), ErrorCode::device, "{} does not answer GET {}{}", url.authority(), target,
        how == Outcome::late ? " in time" : tls);
  return std::move(*answer);
}

}  // namespace lockring::app::http
