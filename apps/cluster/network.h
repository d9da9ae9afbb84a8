// The network interfaces of this machine, and which of them carry this process's messages.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace lockring::app {

struct NetworkInterface {
  std::string name;
  std::string address;        // IPv4, "10.0.0.7"
  std::int64_t megabits = 0;  // a second, as its driver says; 0 if unknown
  bool loopback = false;

  bool operator==(const NetworkInterface&) const = default;
};

// Those that are up and have an IPv4 address, in the system's order.
std::vector<NetworkInterface> network_interfaces();

// Of connections that are established between machines, the local addresses. `table` is the text of /proc/net/tcp;
// only lines count whose inode is in `sockets` and whose other end is none of `own` addresses.
std::set<std::string> addresses_in_use(std::string_view table, const std::set<std::uint64_t>& sockets,
                                       const std::set<std::string>& own);

// The interfaces whose addresses this process's TCP connections to other machines have, such as "eth0"; empty where
// there are none, as within one machine or with a network that is not TCP.
std::vector<NetworkInterface> interfaces_in_use();

}  // namespace lockring::app
