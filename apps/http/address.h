// Where to connect to.
#pragma once

#include <sys/socket.h>

#include <string>
#include <vector>

namespace lockring::app::http {

struct Address {
  sockaddr_storage storage{};
  socklen_t size = 0;

  // "127.0.0.1" or "::1", without the port.
  std::string text() const;
};

// All that the system knows of the host, in its order; asks the network, and waits. Throws Error{device} if there is
// none.
std::vector<Address> resolve(const std::string& host, const std::string& port);

// A non-blocking socket whose connection is being made; -1 with errno if there can be none.
int begin_connect(const Address& address);

}  // namespace lockring::app::http
