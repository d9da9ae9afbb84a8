#include "distributed/roll_call.h"

#include <thread>

namespace lockring::dist {

void RollCall::answer(std::int64_t operation) {
  told_.push_back(operation);
  for (int rank = 0; rank < transport_.size(); ++rank)
    if (rank != transport_.rank()) transport_.send(rank, channel_, &told_.back(), sizeof(std::int64_t));
}

std::vector<int> RollCall::missing(std::int64_t operation, std::chrono::milliseconds patience) {
  using Clock = std::chrono::steady_clock;
  const int size = transport_.size();
  heard_.assign(size, -1);
  heard_[transport_.rank()] = operation;
  std::vector<Ticket> tickets(size);
  const auto listen = [&](int rank) {
    tickets[rank] = transport_.receive(rank, channel_, &heard_[rank], sizeof(std::int64_t));
  };
  std::vector<int> missing;
  for (int rank = 0; rank < size; ++rank) {
    if (rank == transport_.rank()) continue;
    listen(rank);
    missing.push_back(rank);
  }
  // A rank that waited long before, and then went on, has told of earlier operations too.
  const auto has_come = [&](int rank) {
    if (!transport_.done(tickets[rank])) return false;
    if (heard_[rank] >= operation) return true;
    listen(rank);
    return false;
  };
  for (const auto limit = Clock::now() + patience; !missing.empty() && Clock::now() < limit;) {
    std::erase_if(missing, has_come);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return missing;
}

}  // namespace lockring::dist
