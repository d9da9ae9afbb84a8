// The trainer's part that sees to it that all machines have the same parameters.
#include "apps/train/trainer.h"
#include "core/error.h"
#include "distributed/agreement.h"
#include "distributed/digest.h"

#include <algorithm>

namespace lockring::app {

void Trainer::synchronize() {
  if (world_.size() == 1) return;
  std::vector<Tensor> buffers = buffers_of(0);
  std::vector<Tensor> on_cpu;
  for (const Tensor& buffer : buffers) on_cpu.push_back(buffer.to(Device{}));
  // Ranks on GPUs share no memory.
  dist::Communicator& to = on_gpu() ? world_.all() : world_.across();
  if (on_gpu() || world_.node().rank() == 0)
    for (Tensor& buffer : on_cpu) to.broadcast(std::as_writable_bytes(buffer.values()), 0);
  world_.node().barrier();
  std::uint64_t digest = 0;
  for (const Tensor& buffer : on_cpu) digest = dist::digest(std::as_bytes(buffer.values()), digest);
  dist::check_equal(world_, "the parameters and the optimizer's state", digest);
  if (on_gpu())
    for (std::size_t i = 0; i < buffers.size(); ++i) buffers[i].copy_from(on_cpu[i]);
  refresh();
}

bool Trainer::compares_parameters() const {
  const bool same = world_.nodes() > 1 && !options_.served.asynchronous;  // while asynchronous ones differ
  return same && options_.check_parameters > 0 && input_.step % options_.check_parameters == 0;
}

// Of the replica's slice, in the tail of its first shard: halves that doubles hold exactly.
void Trainer::add_digest(int replica) {
  const dist::Slice slice = slice_of(replica);
  const Tensor part = models_[replica]->parameters().buffer().slice(slice.begin, slice.end).to(Device{});
  const std::uint64_t digest = dist::digest_of(part.data() - slice.begin, slice);
  Tail& tail = tails_[first_shard(replica)];
  tail.digest_high = static_cast<double>(digest >> 32);
  tail.digest_low = static_cast<double>(digest & 0xffffffffU);
}

std::vector<int> Trainer::drifted_machines() const {
  std::vector<std::uint64_t> digests;
  std::int64_t shard = 0;
  for (const int replicas : group_.machine_sizes()) {
    digests.push_back(0);
    for (const std::int64_t end = shard + replicas * per_replica_; shard < end; ++shard)
      digests.back() += (static_cast<std::uint64_t>(tails_[shard].digest_high) << 32) +
                        static_cast<std::uint64_t>(tails_[shard].digest_low);
  }
  return dist::odd_ones(digests);
}

void Trainer::report_drift() {
  std::string names;
  for (int rank = 0; rank < world_.size(); ++rank)
    if (std::ranges::count(result_.drifted, world_.node_of(rank)) > 0)
      names += fmt::format("{}rank {} on {}", names.empty() ? "" : ", ", rank, world_.host(rank));
  fail(ErrorCode::device, "before step {}, the parameters of {} are not those of the other machines", input_.step + 1,
       names);
}

}  // namespace lockring::app
