// What the ranks of a machine are doing, in memory that they share: so that whoever misses one can say where it was
// last seen, and sees at once that it has died.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace lockring::dist {

// What a rank does between two steps, or within one.
enum class Phase : std::uint32_t { start, gradient, exchange, update, evaluation, saving };

// One a process; note() and the rest may be called by any of its threads.
class Roster {
 public:
  Roster() = default;
  // Each rank passes the same zeroed memory of bytes(ranks), and its own place.
  Roster(std::shared_ptr<std::byte> memory, int ranks, int rank);
  static std::int64_t bytes(int ranks);

  // From now on, deaths of the others are seen. Once all have made their roster.
  void watch();
  // This rank's: steps count from 1; 0 before the first. Costs a store.
  void note(std::int64_t step, Phase phase) const;
  // This process is about to end on purpose, or with a message of its own.
  void leave() const;

  // "step 12, exchange"; "start" before the first step.
  std::string place_of(int rank) const;
  Phase phase_of(int rank) const;
  // Those who have died without leaving.
  std::vector<int> dead() const;

 private:
  struct Entry;
  class Watches;
  Entry& entry(int rank) const;

  std::shared_ptr<std::byte> memory_;
  int ranks_ = 0;
  int rank_ = 0;
  std::shared_ptr<const Watches> watches_;
};

}  // namespace lockring::dist
