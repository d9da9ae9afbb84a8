// What our communicator makes of a failure that NCCL reports later.
#include "core/device_memory.h"
#include "core/tensor.h"
#include "distributed/device_communicator.h"
#include "distributed/replica_team.h"
#include "tests/fake_cuda/machine.h"
#include "tests/support/errors.h"

#include <gtest/gtest.h>

namespace lockring::dist {
namespace {

TEST(FakeNcclFailure, EndsTheWaitOfAll) {
  const std::unique_ptr<World> world = alone();
  const std::vector<Device> devices = {{DeviceKind::cuda, 0}, {DeviceKind::cuda, 1}};
  const auto communicators = open_nccl(*world, devices);
  ReplicaTeam team(2);
  fake_cuda::break_next_collective();
  expect_error(ErrorCode::device, "an exchange through NCCL: remote process exited", [&] {
    team.run([&](int replica) {
      Tensor values = Tensor::zeros({100}, DType::f32, devices[replica]);
      communicators[replica]->follow_thread();
      communicators[replica]->all_reduce(std::span(values.data<float>(), 100));
      communicators[replica]->wait();
    });
  });
}

TEST(FakeNcclFailure, MisuseIsToldWithItsReason) {
  const std::unique_ptr<World> world = alone();
  const std::vector<Device> devices = {{DeviceKind::cuda, 0}};
  const auto communicators = open_nccl(*world, devices);
  Tensor values = Tensor::zeros({100}, DType::f32, {DeviceKind::cuda, 1});
  expect_error(ErrorCode::device, "ncclAllReduce: invalid argument: memory that is not the communicator's device's",
               [&] { communicators[0]->all_reduce(std::span(values.data<float>(), 100)); });
}

}  // namespace
}  // namespace lockring::dist
