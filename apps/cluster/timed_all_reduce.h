// How long the replicas of a job take to add up vectors, one way or another.
#pragma once

#include "distributed/device_communicator.h"
#include "distributed/mirrored_group.h"
#include "distributed/world.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace lockring::app {

// The seconds that `run` takes on the slowest rank of the job: the median of five rounds that take `seconds` together.
// Every rank calls it at the same time.
double time_together(dist::World& world, double seconds, const std::function<void()>& run);

// Seconds of one all-reduce of `elements` floats a replica, by all ranks of the job at once.
//
// Mirrored: each replica of the machine adds up its slice of all vectors, where they lie; the sum is there for all to
// read.
double time_mirrored(dist::World& world, dist::MirroredGroup& group, std::int64_t elements, double seconds);
// By messages within `ranks`, a group of the world's, with the algorithm of that name.
double time_messages(dist::World& world, dist::Communicator& ranks, const std::string& algorithm, std::int64_t elements,
                     double seconds);
// The same, of one after a pause of `pause` seconds, in which a link may have saved up bytes to send at once.
double time_rested(dist::World& world, dist::Communicator& ranks, const std::string& algorithm, std::int64_t elements,
                   double pause);

// The GPUs of this rank's replicas for NCCL: those from its place on its machine on, a GPU each. Throws Error{usage} in
// a program without NCCL, Error{device} if there are too few GPUs.
std::vector<Device> gpus_of_rank(dist::World& world, int replicas);
// By NCCL, between the replicas' GPUs. As nccl-tests measure it: all-reduces are asked for one after the other, and
// waited for together.
double time_nccl(dist::World& world, dist::ReplicaTeam& team,
                 std::span<const std::unique_ptr<dist::DeviceCommunicator>> replicas, std::int64_t elements,
                 double seconds);

}  // namespace lockring::app
