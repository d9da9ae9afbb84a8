#include "apps/cluster/network.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

namespace lockring::app {
namespace {

namespace fs = std::filesystem;

std::string dotted(in_addr address) {
  char text[INET_ADDRSTRLEN] = {};
  inet_ntop(AF_INET, &address, text, sizeof text);
  return text;
}

// Drivers of virtual interfaces say -1 or nothing.
std::int64_t speed_of(const std::string& interface) {
  std::ifstream file("/sys/class/net/" + interface + "/speed");
  std::int64_t megabits = 0;
  return file >> megabits && megabits > 0 ? megabits : 0;
}

// "0A01A8C0:0016" as the kernel writes 192.168.1.10, in the byte order of the machine.
std::string address_of(std::string_view field) {
  std::uint32_t bits = 0;
  std::from_chars(field.data(), field.data() + std::min<std::size_t>(field.size(), 8), bits, 16);
  return dotted({bits});
}

// Of the process's open files "socket:[12345]".
std::set<std::uint64_t> own_sockets() {
  std::set<std::uint64_t> inodes;
  std::error_code error;
  for (fs::directory_iterator files("/proc/self/fd", error), end; !error && files != end; files.increment(error)) {
    std::error_code ignored;
    const std::string target = fs::read_symlink(files->path(), ignored).string();
    constexpr std::string_view kPrefix = "socket:[";
    std::uint64_t inode = 0;
    if (target.starts_with(kPrefix) &&
        std::from_chars(target.data() + kPrefix.size(), target.data() + target.size(), inode).ec == std::errc())
      inodes.insert(inode);
  }
  return inodes;
}

}  // namespace

std::vector<NetworkInterface> network_interfaces() {
  std::vector<NetworkInterface> interfaces;
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return interfaces;
  for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
    if (entry->ifa_addr == nullptr || entry->ifa_addr->sa_family != AF_INET || (entry->ifa_flags & IFF_UP) == 0)
      continue;
    const auto* address = reinterpret_cast<const sockaddr_in*>(entry->ifa_addr);
    interfaces.push_back({entry->ifa_name, dotted(address->sin_addr), speed_of(entry->ifa_name),
                          (entry->ifa_flags & IFF_LOOPBACK) != 0});
  }
  freeifaddrs(list);
  return interfaces;
}

// Fields of a line: number, local address, remote address, state (01 is established), ..., the tenth is the inode.
std::set<std::string> addresses_in_use(std::string_view table, const std::set<std::uint64_t>& sockets,
                                       const std::set<std::string>& own) {
  std::set<std::string> addresses;
  std::istringstream lines{std::string(table)};
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    const std::vector<std::string> fields{std::istream_iterator<std::string>(words), {}};
    if (fields.size() < 10 || fields[3] != "01") continue;
    std::uint64_t inode = 0;
    std::from_chars(fields[9].data(), fields[9].data() + fields[9].size(), inode);
    if (sockets.contains(inode) && !own.contains(address_of(fields[2]))) addresses.insert(address_of(fields[1]));
  }
  return addresses;
}

std::vector<NetworkInterface> interfaces_in_use() {
  std::vector<NetworkInterface> interfaces = network_interfaces();
  std::set<std::string> own;
  for (const NetworkInterface& interface : interfaces) own.insert(interface.address);
  std::ifstream file("/proc/self/net/tcp");
  const std::string table{std::istreambuf_iterator<char>(file), {}};
  const std::set<std::string> used = addresses_in_use(table, own_sockets(), own);
  std::erase_if(interfaces, [&](const NetworkInterface& interface) { return !used.contains(interface.address); });
  return interfaces;
}

}  // namespace lockring::app
