#include "distributed/mirrored_group.h"

#include "core/allocator.h"
#include "core/error.h"

#include <fmt/format.h>

#include <algorithm>

namespace lockring::dist {

MirroredGroup::MirroredGroup(World& world, int replicas) : world_(world) {
  check(replicas > 0, "a team of {} replicas is not possible", replicas);
  Communicator& node = world.node();
  const std::vector<std::string> counts = node.all_gather(std::to_string(replicas));
  for (int rank = 0; rank < node.size(); ++rank) {
    if (rank == node.rank()) first_ = size_;
    firsts_.push_back(size_);
    size_ += std::stoi(counts[rank]);
  }
  std::vector<double> machines(world.nodes());
  if (node.rank() == 0) machines[world.node_index()] = size_;
  world.all().all_reduce(std::span<double>(machines));
  for (int machine = 0; machine < world.nodes(); ++machine) {
    if (machine == world.node_index()) job_first_ = job_size_;
    machine_sizes_.push_back(static_cast<int>(machines[machine]));
    job_size_ += machine_sizes_.back();
  }
  std::shared_ptr<std::byte> memory = allocate(Meeting::bytes(size_));
  if (node.rank() == 0) Meeting::create(memory.get(), size_);
  node.barrier();
  Meeting meeting(std::move(memory), size_);
  if (world.size() > 1) watch_over(meeting);
  team_ = std::make_unique<ReplicaTeam>(replicas, std::move(meeting), first_);
  if (world.size() > 1) team_->set_explanation([this](const std::vector<int>& missing) { return explain(missing); });
}

// Who is missing because it waits for another machine itself can say best for whom; the others leave it the time.
void MirroredGroup::watch_over(Meeting& meeting) {
  meeting.set_patience([this](const std::vector<int>& missing, std::chrono::milliseconds waited) {
    const std::vector<int> ranks = ranks_of(missing);
    const bool excused = world_.nodes() > 1 && std::ranges::all_of(ranks, [this](int rank) {
                           return world_.roster().phase_of(rank) == Phase::exchange;
                         });
    return world_.lost().empty() && waited < (excused ? 2 : 1) * world_.node().timeout();
  });
}

std::string MirroredGroup::explain(const std::vector<int>& missing) const {
  if (const std::string lost = world_.lost(); !lost.empty()) return lost;
  if (missing.empty()) return "a replica of another rank has failed";
  std::string names;
  for (const int rank : ranks_of(missing)) names += (names.empty() ? "" : ", ") + world_.place_of_neighbour(rank);
  return fmt::format("waited more than {:.3g} s for the replicas of this machine to meet; missing: {}",
                     std::chrono::duration<double>(world_.node().timeout()).count(), names);
}

std::vector<int> MirroredGroup::ranks_of(const std::vector<int>& members) const {
  std::vector<int> ranks;
  for (const int member : members) {
    const int rank = static_cast<int>(std::ranges::upper_bound(firsts_, member) - firsts_.begin()) - 1;
    if (ranks.empty() || ranks.back() != rank) ranks.push_back(rank);
  }
  return ranks;
}

std::shared_ptr<std::byte> MirroredGroup::allocate(std::int64_t bytes) {
  if (world_.node().size() == 1) {
    std::shared_ptr<std::byte> own(static_cast<std::byte*>(lockring::allocate(bytes)),
                                   [bytes](std::byte* memory) { deallocate(memory, bytes); });
    std::fill_n(own.get(), bytes, std::byte{0});
    return own;
  }
  std::shared_ptr<std::byte> memory = world_.share(bytes);
  check(memory != nullptr, ErrorCode::device, "the {} ranks of {} cannot share {} bytes of memory",
        world_.node().size(), world_.host(world_.rank()), bytes);
  return memory;
}

}  // namespace lockring::dist
