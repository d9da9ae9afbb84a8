// The replicas of one machine, threads of all its ranks, and the memory they share: the node tier.
#pragma once

#include "distributed/replica_team.h"
#include "distributed/world.h"

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace lockring::dist {

// An array that all replicas of a machine see.
template <class T>
class Shared {
 public:
  Shared() = default;
  Shared(std::shared_ptr<std::byte> memory, std::int64_t count) : memory_(std::move(memory)), count_(count) {}

  T* begin() const { return reinterpret_cast<T*>(memory_.get()); }
  T* end() const { return begin() + count_; }
  T& operator[](std::int64_t i) const { return begin()[i]; }
  std::int64_t size() const { return count_; }
  std::span<T> span() const { return {begin(), end()}; }

 private:
  std::shared_ptr<std::byte> memory_;
  std::int64_t count_ = 0;
};

class MirroredGroup {
 public:
  // Of `replicas` threads of this process, those of the machine's other ranks included; every rank of the machine makes
  // one at the same time, with a number of its own. Throws Error{device} if they cannot share memory.
  MirroredGroup(World& world, int replicas);

  // This process's replicas.
  ReplicaTeam& team() { return *team_; }
  // Of all replicas of the machine.
  int size() const { return size_; }
  // The place of this process's first one among them.
  int first() const { return first_; }
  // The number of replicas of each machine, in the order of machines.
  const std::vector<int>& machine_sizes() const { return machine_sizes_; }
  // Of all replicas of the job, and the place of this machine's first one among them: those of a machine are
  // neighbours.
  int job_size() const { return job_size_; }
  int job_first() const { return job_first_; }

  // Zeroed memory that all replicas of the machine see, on a cache line of its own. All ranks call it at the same time.
  std::shared_ptr<std::byte> allocate(std::int64_t bytes);
  // The same as an array of numbers, or of structs of numbers.
  template <class T>
  Shared<T> share(std::int64_t count) {
    return {allocate(count * static_cast<std::int64_t>(sizeof(T))), count};
  }

 private:
  void watch_over(Meeting& meeting);
  std::string explain(const std::vector<int>& missing) const;
  // The ranks of the machine that these members belong to.
  std::vector<int> ranks_of(const std::vector<int>& members) const;

  World& world_;
  std::vector<int> firsts_;  // members, of each rank of the machine
  std::vector<int> machine_sizes_;
  int size_ = 0;
  int first_ = 0;
  int job_size_ = 0;
  int job_first_ = 0;
  std::unique_ptr<ReplicaTeam> team_;
};

}  // namespace lockring::dist
