// Replicas that compute on GPUs add up vectors that lie there, through NCCL: all that the rest of the program sees of
// it. distributed/no_nccl_communicator.cpp stands for it in programs without it.
//
// Operations of a communicator run on a stream of its own, in their order, while the streams of the replicas' threads
// go on; follow_thread() and hold_thread() say what waits for what. NCCL's work on a GPU waits for that of all others,
// so a member that is missing holds the streams of those who are there: the CPU waits with wait(), which ends that.
// CUDA's own calls for memory may wait for all GPUs of the process. A member that makes one while another of its
// process has already asked for a sum would wait for itself, so replicas first get what they need, and meet.
#pragma once

#include "core/device.h"
#include "distributed/world.h"

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace lockring::dist {

// One replica's. Used by one thread, but for its making; all members call the same functions in the same order.
// The memory of spans is of the member's device, and the communicator's until wait() or an order of streams.
class DeviceCommunicator {
 public:
  virtual ~DeviceCommunicator() = default;

  // Among the replicas of all ranks, and their number.
  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual Device device() const = 0;

  // What is asked of the communicator from now on waits for what the thread has asked of its stream so far.
  virtual void follow_thread() = 0;
  // Sums over the members, in place; NCCL chooses the order of the terms, the same on every member. Returns at once.
  virtual void all_reduce(std::span<float> values) = 0;
  virtual void all_reduce(std::span<double> values) = 0;
  // Everyone gets the bytes of `root`. Returns at once.
  virtual void broadcast(std::span<std::byte> bytes, int root) = 0;
  // What the thread asks of its stream from now on waits for what was asked of the communicator so far.
  virtual void hold_thread() = 0;

  // Returns when all that was asked of the communicator is done. Throws Error{device} if NCCL reports a failure, if
  // members are missing for longer than the world's timeout (naming them), or if another replica of this process has
  // found that. Streams are free then, what memory holds is undefined, and the communicators are of no more use.
  virtual void wait() = 0;
  // For a thread that cannot go on: the other replicas of this process, who may wait for it, learn why.
  virtual void abandon(const std::string& why) = 0;
};

// Of this process's replicas, one for each device, in their order; those of a rank come after those of the ranks before
// it. Every rank of the world calls it at the same time, on the thread that has the world, which outlives the result.
// The first of them waits with the world's help, so it must be used by the thread that has the world.
// Throws Error{usage} in a program without NCCL, or if two replicas have the same GPU; Error{device} if NCCL fails, or
// a rank does not come in time.
std::vector<std::unique_ptr<DeviceCommunicator>> open_nccl(World& world, std::span<const Device> devices);

// Whether open_nccl() of these would have a GPU for each member, of all ranks, and there is NCCL. Every rank calls it
// at the same time, with what its replicas compute on, and gets the same answer.
bool suits_nccl(World& world, std::span<const Device> devices);

// "2.28.9"; empty in a program without NCCL.
std::string nccl_version();

}  // namespace lockring::dist
