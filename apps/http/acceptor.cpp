#include "apps/http/acceptor.h"

#include "apps/http/short_turns.h"
#include "core/error.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace lockring::app::http {
namespace {

constexpr std::int64_t kFilesForOthers =
    128;                                     // of the limit of open files, what is left to bundles, logs and listeners
constexpr std::int64_t kRefusedAtOnce = 64;  // connections over the limit that are told so at the same time
constexpr int kPauseMilliseconds = 50;       // when there are no descriptors left

// As many files as the system allows: each connection is one.
std::int64_t raise_file_limit() {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
  ::getrlimit(RLIMIT_NOFILE, &limit);
  return limit.rlim_cur == RLIM_INFINITY ? INT64_MAX : static_cast<std::int64_t>(limit.rlim_cur);
}

// A socket that listens, or -1 with errno.
int listen_on(const addrinfo& address) {
  const int fd = ::socket(address.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return -1;
  const int on = 1;
  ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (::bind(fd, address.ai_addr, address.ai_addrlen) == 0 && ::listen(fd, SOMAXCONN) == 0) return fd;
  const int error = errno;
  ::close(fd);
  errno = error;
  return -1;
}

int listen_on(const std::string& host, int port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int result = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  check(result == 0, "cannot listen on '{}': {}", host, ::gai_strerror(result));
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> addresses(found, ::freeaddrinfo);
  const int fd = listen_on(*addresses);
  check(fd >= 0, "cannot listen on {} port {}: {}", host, port, std::strerror(errno));
  return fd;
}

int port_of(int fd) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size);
  return ntohs(address.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6&>(address).sin6_port
                                             : reinterpret_cast<sockaddr_in&>(address).sin_port);
}

std::string text_of(const sockaddr_storage& address) {
  char text[INET6_ADDRSTRLEN] = "";
  const void* bytes = address.ss_family == AF_INET6
                          ? static_cast<const void*>(&reinterpret_cast<const sockaddr_in6&>(address).sin6_addr)
                          : static_cast<const void*>(&reinterpret_cast<const sockaddr_in&>(address).sin_addr);
  ::inet_ntop(address.ss_family, bytes, text, sizeof text);
  return text;
}

int spare_descriptor() { return ::open("/dev/null", O_RDONLY | O_CLOEXEC); }

}  // namespace

Acceptor::Acceptor(const ServerOptions& options, std::vector<std::shared_ptr<EventLoop>> loops)
    : loops_(std::move(loops)), listener_(listen_on(options.address, options.port)) {
  wake_ = ::eventfd(0, EFD_CLOEXEC);
  spare_ = spare_descriptor();
  port_ = port_of(listener_);
  const std::int64_t files = raise_file_limit();
  most_ = std::clamp<std::int64_t>(files - std::min(kFilesForOthers, files / 2), 1, options.max_connections);
}

Acceptor::~Acceptor() {
  stop();
  ::close(wake_);
  ::close(spare_);
}

void Acceptor::start() {
  thread_ = std::thread([this] { run(); });
}

void Acceptor::stop() {
  if (listener_ < 0) return;
  const std::uint64_t one = 1;
  if (thread_.joinable()) {
    while (::write(wake_, &one, sizeof one) < 0 && errno == EINTR) {
    }
    thread_.join();
    accept_all();
  }
  ::close(listener_);
  listener_ = -1;
}

void Acceptor::run() {
  pthread_setname_np(pthread_self(), "http-accept");
  take_short_turns();
  pollfd waits[] = {{wake_, POLLIN, 0}, {listener_, POLLIN, 0}};
  while (true) {
    ::poll(waits, 2, -1);
    if (waits[0].revents != 0) return;
    if (waits[1].revents == 0) continue;
    if (!accept_all()) {
      turn_away();
      ::poll(waits, 1, kPauseMilliseconds);
    }
  }
}

bool Acceptor::accept_all() {
  while (true) {
    sockaddr_storage address{};
    socklen_t size = sizeof address;
    const int fd = ::accept4(listener_, reinterpret_cast<sockaddr*>(&address), &size, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd >= 0) {
      hand_over(fd, text_of(address));
    } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
      return false;
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      return true;
    }  // else: that one client has gone already
  }
}

void Acceptor::hand_over(int fd, const std::string& peer) {
  const auto open = [](const std::shared_ptr<EventLoop>& loop) { return loop->counters.open.load(); };
  EventLoop* best = nullptr;
  std::int64_t total = 0;
  for (const auto& loop : loops_) {
    total += open(loop);
    if (!best || open(loop) < best->counters.open.load()) best = loop.get();
  }
  if (total >= most_ + kRefusedAtOnce) {
    best->counters.refused.fetch_add(1);
    ::close(fd);
    return;
  }
  best->counters.open.fetch_add(1);
  best->adopt(fd, peer, total >= most_);
}

void Acceptor::turn_away() {
  ::close(spare_);
  const int fd = ::accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
  if (fd >= 0) {
    loops_[0]->counters.refused.fetch_add(1);
    ::close(fd);
  }
  spare_ = spare_descriptor();
}

}  // namespace lockring::app::http
