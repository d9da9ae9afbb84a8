// On as many GPUs as there are, one a thread; the emulated build has four.
#include "core/device_memory.h"
#include "core/devices.h"
#include "core/error.h"
#include "core/tensor.h"
#include "distributed/device_communicator.h"
#include "distributed/replica_team.h"
#include "tests/distributed/thread_world.h"
#include "tests/support/errors.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace lockring::dist {
namespace {

std::vector<Device> gpus(int count, int first = 0) {
  std::vector<Device> devices;
  for (int i = 0; i < count; ++i) devices.push_back({DeviceKind::cuda, first + i});
  return devices;
}

Tensor filled(std::int64_t count, float value, Device device) {
  Tensor tensor = Tensor::empty({count}, DType::f32, device);
  device_memory::fill(tensor.data<float>(), count, value, device);
  return tensor;
}

std::span<float> span_of(const Tensor& tensor) {
  return {static_cast<float*>(tensor.raw()), static_cast<std::size_t>(tensor.elements())};
}

// The replicas of one process, who meet when they have their memory.
using Job = std::function<void(DeviceCommunicator& group, const std::function<void()>& meet)>;
void run_replicas(int count, const Job& job, std::chrono::milliseconds timeout = std::chrono::seconds(60)) {
  const std::unique_ptr<World> world = alone();
  world->set_timeout(timeout);
  const auto communicators = open_nccl(*world, gpus(count));
  ReplicaTeam team(count);
  team.run([&](int replica) { job(*communicators[replica], [&] { team.meet(replica); }); });
}

TEST(Nccl, HasAVersion) { EXPECT_EQ(nccl_version().substr(0, 2), "2."); }

TEST(Nccl, ReplicasOfAProcessAddUp) {
  if (gpu_count() == 0) GTEST_SKIP() << "no GPU";
  for (int count = 1; count <= gpu_count(); ++count)
    run_replicas(count, [&](DeviceCommunicator& group, const std::function<void()>& meet) {
      EXPECT_EQ(group.size(), count);
      EXPECT_EQ(group.device().index, group.rank());
      for (const std::int64_t elements : {1, 1003, 70000}) {
        const Tensor values = filled(elements, static_cast<float>(group.rank() + 1), group.device());
        meet();
        group.follow_thread();
        group.all_reduce(span_of(values));
        group.hold_thread();
        const Tensor result = values.to({});
        for (const float value : span_of(result)) ASSERT_EQ(value, count * (count + 1) / 2);
      }
    });
}

TEST(Nccl, DoublesAndBroadcastsTravelInTheirOrder) {
  const int count = gpu_count();
  if (count == 0) GTEST_SKIP() << "no GPU";
  run_replicas(count, [&](DeviceCommunicator& group, const std::function<void()>& meet) {
    const Tensor bytes = filled(100, static_cast<float>(group.rank()), group.device());
    const Tensor sums = Tensor::zeros({50}, DType::f32, group.device());
    meet();
    group.follow_thread();
    for (int i = 0; i < 3; ++i) group.all_reduce(span_of(bytes));
    group.broadcast(std::as_writable_bytes(span_of(bytes)), count - 1);
    group.all_reduce(std::span(static_cast<double*>(sums.raw()), 25));
    group.wait();
    const int sum = count * (count - 1) / 2;
    EXPECT_EQ(bytes.to({}).data<float>()[99], static_cast<float>(sum * count * count));
    EXPECT_EQ(static_cast<const double*>(sums.to({}).raw())[24], 0);
  });
}

// Each rank is a thread with a world of its own.
TEST(Nccl, RanksAddUp) {
  if (gpu_count() == 0) GTEST_SKIP() << "no GPU";
  for (int count = 1; count <= gpu_count(); ++count)
    run_machines(count, [&](World& world) {
      const auto group = open_nccl(world, gpus(1, world.rank()));
      EXPECT_EQ(group[0]->rank(), world.rank());
      EXPECT_EQ(group[0]->size(), count);
      const Tensor values = filled(5000, 1, group[0]->device());
      world.all().barrier();
      group[0]->follow_thread();
      group[0]->all_reduce(span_of(values));
      group[0]->wait();
      EXPECT_EQ(values.to({}).data<float>()[4999], count);
    });
}

TEST(Nccl, RanksOfSeveralReplicasAddUp) {
  if (gpu_count() < 4) GTEST_SKIP() << "fewer than four GPUs";
  run_machines(2, [](World& world) {
    const auto group = open_nccl(world, gpus(2, 2 * world.rank()));
    ReplicaTeam team(2);
    team.run([&](int replica) {
      EXPECT_EQ(group[replica]->rank(), 2 * world.rank() + replica);
      const Tensor values = filled(10, 1, group[replica]->device());
      team.meet(replica);
      if (replica == 0) world.all().barrier();
      team.meet(replica);
      group[replica]->follow_thread();
      group[replica]->all_reduce(span_of(values));
      group[replica]->wait();
      EXPECT_EQ(values.to({}).data<float>()[9], 4);
    });
  });
}

TEST(Nccl, AGpuIsForOneReplica) {
  if (gpu_count() == 0) GTEST_SKIP() << "no GPU";
  expect_error(ErrorCode::usage, "NCCL needs a GPU for each replica: ranks 0 and 1 both have",
               [] { run_machines(2, [](World& world) { open_nccl(world, gpus(1)); }); });
  const std::unique_ptr<World> world = alone();
  expect_error(ErrorCode::usage, "between GPUs only", [&] { open_nccl(*world, std::vector<Device>(1)); });
  expect_error(ErrorCode::device, "cuda:1000 is not there", [&] { open_nccl(*world, gpus(1, 1000)); });
}

constexpr std::chrono::milliseconds kSoon{400};

TEST(Nccl, AReplicaThatIsMissingIsNamed) {
  if (gpu_count() < 2) GTEST_SKIP() << "fewer than two GPUs";
  expect_error(ErrorCode::device, "waited more than 0.4 s in an exchange through NCCL; missing: replica 1 (cuda:1)",
               [] {
                 run_replicas(
                     2,
                     [](DeviceCommunicator& group, const std::function<void()>& meet) {
                       const Tensor values = filled(10, 1, group.device());
                       meet();
                       group.follow_thread();
                       if (group.rank() == 0) group.all_reduce(span_of(values));
                       if (group.rank() == 0) group.wait();
                     },
                     kSoon);
               });
}

TEST(Nccl, ARankThatIsMissingIsNamed) {
  if (gpu_count() < 2) GTEST_SKIP() << "fewer than two GPUs";
  expect_error(ErrorCode::device, "in an exchange through NCCL; missing: rank 1 on ", [] {
    run_machines(2, [](World& world) {
      const auto group = open_nccl(world, gpus(1, world.rank()));
      const Tensor values = filled(10, 1, group[0]->device());
      world.all().barrier();
      world.set_timeout(kSoon);
      group[0]->follow_thread();
      if (world.rank() == 1) return;
      group[0]->all_reduce(span_of(values));
      group[0]->wait();
    });
  });
}

TEST(Nccl, ARankThatNeverJoinsIsNamed) {
  if (gpu_count() < 2) GTEST_SKIP() << "fewer than two GPUs";
  expect_error(ErrorCode::device, "missing: rank 1 on ", [] {
    run_machines(2, [](World& world) {
      world.set_timeout(kSoon);
      if (world.rank() == 0) open_nccl(world, gpus(1));
    });
  });
}

TEST(Nccl, WhoCannotGoOnTellsTheOthers) {
  if (gpu_count() < 2) GTEST_SKIP() << "fewer than two GPUs";
  std::atomic<bool> asked = false;
  run_replicas(2, [&](DeviceCommunicator& group, const std::function<void()>& meet) {
    const Tensor values = filled(10, 1, group.device());
    meet();
    group.follow_thread();
    if (group.rank() == 1) {
      while (!asked) std::this_thread::yield();
      return group.abandon("the loss is not finite");
    }
    group.all_reduce(span_of(values));
    group.hold_thread();
    asked = true;
    expect_error(ErrorCode::device, "the loss is not finite", [&] { group.wait(); });
    expect_error(ErrorCode::device, "the loss is not finite", [&] { group.all_reduce(span_of(values)); });
    device_memory::synchronize(group.device());  // the stream is free
  });
}

}  // namespace
}  // namespace lockring::dist
