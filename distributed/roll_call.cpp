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
    while (transport_.done(tickets[rank])) {
      if (heard_[rank] >= operation) return true;
      listen(rank);
    }
    return false;
  };
  // Looked at once at least, however late this thread comes to it.
  for (const auto limit = Clock::now() + patience;;) {
    std::erase_if(missing, has_come);
    if (missing.empty() || Clock::now() >= limit) return missing;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

}  // namespace lockring::dist
