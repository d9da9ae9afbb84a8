#include "apps/http/address.h"

#include "core/error.h"
#include "core/text.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>

namespace lockring::app::http {

std::string Address::text() const {
  char text[INET6_ADDRSTRLEN] = "";
  const void* bytes = storage.ss_family == AF_INET6
                          ? static_cast<const void*>(&reinterpret_cast<const sockaddr_in6&>(storage).sin6_addr)
                          : static_cast<const void*>(&reinterpret_cast<const sockaddr_in&>(storage).sin_addr);
  ::inet_ntop(storage.ss_family, bytes, text, sizeof text);
  return text;
}

std::vector<Address> resolve(const std::string& host, const std::string& port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int result = ::getaddrinfo(host.c_str(), port.c_str(), &hints, &found);
  check(result == 0, ErrorCode::device, "cannot find the host '{}': {}", printable(host), ::gai_strerror(result));
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(found, ::freeaddrinfo);
  std::vector<Address> addresses;
  for (const addrinfo* info = found; info; info = info->ai_next) {
    Address& address = addresses.emplace_back();
    std::memcpy(&address.storage, info->ai_addr, info->ai_addrlen);
    address.size = info->ai_addrlen;
  }
  return addresses;
}

int begin_connect(const Address& address) {
  const int fd = ::socket(address.storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return -1;
  const auto* where = reinterpret_cast<const sockaddr*>(&address.storage);
  if (::connect(fd, where, address.size) == 0 || errno == EINPROGRESS) return fd;
  const int error = errno;
  ::close(fd);
  errno = error;
  return -1;
}

}  // namespace lockring::app::http
