#include "apps/cluster/network.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace lockring::app {
namespace {

// 10.1.2.10:4097 to 10.1.2.11 (established, inode 700), 10.1.2.10 to itself (701), a listener (702), and another
// process's connection over 192.168.0.5 (900).
constexpr std::string_view kTable =
    "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
    "   0: 0A02010A:1001 0B02010A:8001 01 00000000:00000000 00:00000000 00000000     0        0 700 1 0 20 4 30 10 -1\n"
    "   1: 0A02010A:1002 0A02010A:8002 01 00000000:00000000 00:00000000 00000000     0        0 701 1 0 20 4 30 10 -1\n"
    "   2: 00000000:0016 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 702 1 0 100 0 0 10 0\n"
    "   3: 0500A8C0:1003 0B02010A:8003 01 00000000:00000000 00:00000000 00000000     0        0 900 1 0 20 4 30 10 "
    "-1\n";

TEST(Network, ConnectionsToOtherMachinesTellTheAddress) {
  const std::set<std::string> own{"127.0.0.1", "10.1.2.10"};
  EXPECT_EQ(addresses_in_use(kTable, {700, 701, 702}, own), (std::set<std::string>{"10.1.2.10"}));
  EXPECT_EQ(addresses_in_use(kTable, {701, 702}, own), std::set<std::string>());
  EXPECT_EQ(addresses_in_use(kTable, {900}, own), (std::set<std::string>{"192.168.0.5"}));
}

TEST(Network, WhatIsNoTableHasNoConnections) {
  for (const char* text : {"", "\n\n", "one two three", "   0: zz 0B02010A:8001 01 a b c d e f g"})
    EXPECT_EQ(addresses_in_use(text, {700}, {}), std::set<std::string>()) << text;
}

TEST(Network, LoopbackIsNoWayToOtherMachines) {
  for (const NetworkInterface& interface : network_interfaces()) {
    EXPECT_FALSE(interface.name.empty());
    EXPECT_EQ(std::ranges::count(interface.address, '.'), 3) << interface.address;
    EXPECT_TRUE(interface.loopback || interface.name != "lo");
  }
}

}  // namespace
}  // namespace lockring::app
