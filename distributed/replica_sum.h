// Sums over all replicas of a job in the middle of their work: what batch normalisation over the whole batch needs.
#pragma once

#include "core/group_sum.h"
#include "distributed/mirrored_group.h"

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace lockring::dist {

// One a rank; every rank makes one at the same time. With powers of two, the sum is one binary tree over the replicas,
// wherever they are.
class ReplicaSums {
 public:
  // Of at most so many values.
  ReplicaSums(World& world, MirroredGroup& group, std::int64_t most);

  // For a replica of this process, to be called within a job of its team.
  GroupSum& of(int replica) { return members_[replica]; }

 private:
  class Member final : public GroupSum {
   public:
    Member(ReplicaSums& sums, int replica) : sums_(sums), replica_(replica) {}
    void sum(std::span<double> values) override;

   private:
    ReplicaSums& sums_;
    int replica_;
    std::int64_t calls_ = 0;
  };

  // The terms that the replicas of this machine have left, in place of `values`.
  void add_up(std::int64_t call, std::span<double> values) const;
  // Where a replica of this machine leaves its terms in a call; who reads those of one call may be late by another.
  double* terms(std::int64_t call, int replica) const;

  World& world_;
  MirroredGroup& group_;
  const std::int64_t most_;
  Shared<double> terms_;
  Shared<double> result_;  // of all machines
  std::vector<Member> members_;
};

}  // namespace lockring::dist
