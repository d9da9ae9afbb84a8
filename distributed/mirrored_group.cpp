#include "distributed/mirrored_group.h"

#include "core/allocator.h"
#include "core/error.h"

#include <algorithm>

namespace lockring::dist {

MirroredGroup::MirroredGroup(World& world, int replicas) : world_(world) {
  check(replicas > 0, "a team of {} replicas is not possible", replicas);
  Communicator& node = world.node();
  const std::vector<std::string> counts = node.all_gather(std::to_string(replicas));
  for (int rank = 0; rank < node.size(); ++rank) {
    if (rank == node.rank()) first_ = size_;
    size_ += std::stoi(counts[rank]);
  }
  std::vector<double> machines(world.nodes());
  if (node.rank() == 0) machines[world.node_index()] = size_;
  world.all().all_reduce(std::span<double>(machines));
  for (int machine = 0; machine < world.nodes(); ++machine) {
    if (machine == world.node_index()) job_first_ = job_size_;
    job_size_ += static_cast<int>(machines[machine]);
  }
  std::shared_ptr<std::byte> memory = allocate(Meeting::bytes(size_));
  if (node.rank() == 0) Meeting::create(memory.get(), size_);
  node.barrier();
  Meeting meeting(std::move(memory), size_);
  meeting.set_timeout(node.timeout());
  team_ = std::make_unique<ReplicaTeam>(replicas, std::move(meeting), first_);
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
