#include "apps/cluster/timed_all_reduce.h"

#include "core/devices.h"
#include "core/error.h"
#include "core/stopwatch.h"
#include "core/tensor.h"
#include "ops/gradient_sums_kernel.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

namespace lockring::app {

namespace {

constexpr int kRounds = 5;

// Of the slowest rank; all begin together.
double time_once(dist::World& world, const std::function<void()>& run) {
  world.all().barrier();
  const auto start = std::chrono::steady_clock::now();
  run();
  const double took = seconds_since(start);
  double slowest = 0;
  for (const std::string& text : world.all().all_gather(fmt::format("{}", took)))
    slowest = std::max(slowest, std::stod(text));
  return slowest;
}

double median_of_rounds(const std::function<double()>& round) {
  std::vector<double> times;
  for (int i = 0; i < kRounds; ++i) times.push_back(round());
  std::ranges::sort(times);
  return times[kRounds / 2];
}

// As time_together(), of what runs `count` times when it is told to.
double time_series(dist::World& world, double seconds, const std::function<void(std::int64_t count)>& run) {
  const auto several = [&](std::int64_t count) {
    return time_once(world, [&] { run(count); }) / static_cast<double>(count);
  };
  several(3);
  const double rough = several(5);
  const auto count = static_cast<std::int64_t>(std::clamp(seconds / kRounds / rough, 1.0, 1e6));
  return median_of_rounds([&] { return several(count); });
}

}  // namespace

double time_together(dist::World& world, double seconds, const std::function<void()>& run) {
  return time_series(world, seconds, [&](std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) run();
  });
}

double time_mirrored(dist::World& world, dist::MirroredGroup& group, std::int64_t elements, double seconds) {
  const std::shared_ptr<std::byte> memory = group.allocate(group.size() * elements * 4);
  auto* vectors = reinterpret_cast<float*>(memory.get());
  std::vector<const float*> starts;
  for (int i = 0; i < group.size(); ++i) starts.push_back(vectors + i * elements);
  group.team().run([&](int replica) { std::fill_n(vectors + (group.first() + replica) * elements, elements, 1e-9F); });
  const std::function<void(int)> job = [&](int replica) {
    const dist::Slice slice = dist::slice_of(elements, 16, group.size(), group.first() + replica);
    group.team().meet(replica);
    kTreeSum.on()(starts.data(), group.size(), slice.begin, slice.end, vectors);
    group.team().meet(replica);
  };
  return time_together(world, seconds, [&] { group.team().run(job); });
}

double time_messages(dist::World& world, dist::Communicator& ranks, const std::string& algorithm, std::int64_t elements,
                     double seconds) {
  std::vector<float> values(static_cast<std::size_t>(elements));
  const dist::Algorithm known = dist::parse_algorithm(algorithm);
  return time_together(world, seconds, [&] { ranks.all_reduce(values, known); });
}

double time_rested(dist::World& world, dist::Communicator& ranks, const std::string& algorithm, std::int64_t elements,
                   double pause) {
  std::vector<float> values(static_cast<std::size_t>(elements));
  const dist::Algorithm known = dist::parse_algorithm(algorithm);
  return median_of_rounds([&] {
    std::this_thread::sleep_for(std::chrono::duration<double>(pause));
    return time_once(world, [&] { ranks.all_reduce(values, known); });
  });
}

std::vector<Device> gpus_of_rank(dist::World& world, int replicas) {
  check(!dist::nccl_version().empty(),
        "--allreduce nccl: this program was built without NCCL; ring and mirrored add up without it");
  check(replicas <= gpu_count(), ErrorCode::device,
        "--allreduce nccl needs a GPU for each replica: {} on {}, which has {} ({})", replicas,
        world.host(world.rank()), gpu_count(), gpu_count() == 0 ? describe_gpus().missing : "one process sees no more");
  // A launcher may show each rank its own ones alone; whether two have the same, NCCL's start finds out.
  const int first = world.node().rank() * replicas;
  std::vector<Device> devices;
  for (int i = 0; i < replicas; ++i) devices.push_back({DeviceKind::cuda, (first + i) % gpu_count()});
  return devices;
}

double time_nccl(dist::World& world, dist::ReplicaTeam& team,
                 std::span<const std::unique_ptr<dist::DeviceCommunicator>> replicas, std::int64_t elements,
                 double seconds) {
  std::vector<Tensor> vectors(replicas.size());
  team.run([&](int replica) {
    vectors[replica] = Tensor::zeros({elements}, DType::f32, replicas[replica]->device());
    replicas[replica]->follow_thread();
  });
  const auto run = [&](std::int64_t count) {
    team.run([&](int replica) {
      for (std::int64_t i = 0; i < count; ++i) replicas[replica]->all_reduce(vectors[replica].values());
      replicas[replica]->wait();
    });
  };
  return time_series(world, seconds, run);
}

}  // namespace lockring::app
