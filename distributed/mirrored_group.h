// The replicas of one machine, threads of all its ranks, and the memory they share: the node tier.
#pragma once

#include "distributed/replica_team.h"
#include "distributed/world.h"

#include <cstddef>
#include <memory>

namespace lockring::dist {

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

  // Zeroed memory that all replicas of the machine see. All ranks call it at the same time.
  std::shared_ptr<std::byte> allocate(std::int64_t bytes);

 private:
  World& world_;
  int size_ = 0;
  int first_ = 0;
  std::unique_ptr<ReplicaTeam> team_;
};

}  // namespace lockring::dist
