// Who is still there when a wait takes too long: each rank of a group that waits in vain tells the others so, and those
// who say nothing are missing.
#pragma once

#include "distributed/transport.h"

#include <chrono>
#include <cstdint>
#include <list>
#include <vector>

namespace lockring::dist {

// Belongs to the thread that has the transport.
class RollCall {
 public:
  // No other messages may use the channel.
  RollCall(Transport& transport, int channel) : transport_(transport), channel_(channel) {}

  // Tells all others that this rank waits in an operation; operations have ascending numbers, the same on every rank.
  void answer(std::int64_t operation);
  // Those who have not told that they wait in this operation or a later one. Takes at most `patience`; call it when
  // those who are there have had the time to answer, and nothing goes on afterwards.
  std::vector<int> missing(std::int64_t operation, std::chrono::milliseconds patience);

 private:
  Transport& transport_;
  const int channel_;
  std::list<std::int64_t> told_;     // messages; they may be under way for long
  std::vector<std::int64_t> heard_;  // the last of each rank
};

}  // namespace lockring::dist
