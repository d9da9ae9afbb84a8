#include "core/device_memory.h"

#include "core/autograd.h"
#include "core/devices.h"
#include "core/tensor.h"
#include "tests/support/device_test.h"
#include "tests/support/errors.h"
#include "tests/support/tensors.h"

#include <gtest/gtest.h>

#include <cstring>
#include <utility>

namespace lockring {
namespace {

using DeviceTensorTest = DeviceTest;
LOCKRING_DEVICE_TESTS(DeviceTensorTest);

TEST_P(DeviceTensorTest, MovesThereAndBack) {
  const Tensor x = random_tensor({3, 5});
  const Tensor there = x.to(device());
  EXPECT_EQ(there.device(), device());
  EXPECT_EQ(there.raw() == x.raw(), device() == Device{});
  EXPECT_EQ(there.to(device()).raw(), there.raw());
  expect_same_bits(there, x);
  expect_same_bits(there.slice(1, 2), x.slice(1, 2));
  EXPECT_FALSE(Tensor().to(device()).defined());
}

TEST_P(DeviceTensorTest, IsMadeThere) {
  EXPECT_EQ(Tensor::empty({2}, DType::u8, device()).device(), device());
  expect_same_bits(Tensor::zeros({7, 3}, DType::i32, device()), Tensor::zeros({7, 3}, DType::i32));
  expect_same_bits(Tensor::full({1000}, 2.5F, device()), Tensor::full({1000}, 2.5F));
  expect_values(Tensor::from({1, 2, 3}, {3}, device()), {1, 2, 3});
  EXPECT_EQ(Tensor::full({1}, 2.5F, device()).item(), 2.5F);
  const std::int64_t large[] = {std::int64_t{1} << 40};
  EXPECT_EQ(Tensor::from(std::span<const std::int64_t>(large), {1}, device()).item<std::int64_t>(), large[0]);
  EXPECT_EQ(Tensor::full({0, 3}, 1, device()).clone().to(Device{}).shape(), Shape({0, 3}));
}

TEST_P(DeviceTensorTest, ClonesAndCopiesStayThere) {
  const Tensor x = random({4, 6});
  Tensor copy = x.clone();
  EXPECT_EQ(copy.device(), device());
  EXPECT_NE(copy.raw(), x.raw());
  expect_same_bits(copy, x);
  copy.copy_from(random_tensor({24}, 2));
  expect_same_bits(copy, random_tensor({24}, 2).view({4, 6}));
  expect_error(ErrorCode::usage, "F32 [23] cannot be copied to F32 [4, 6]", [&] { copy.copy_from(random({23})); });
}

TEST_P(DeviceTensorTest, GradientsAddUpThere) {
  const Leaf x(random({5}));
  const Tensor gradient = random({5}, 2);
  for (int pass = 0; pass < 2; ++pass) {
    Tensor y = x.tensor().clone();
    record(y, {&x.tensor()}, [](const Tensor& dy, GradTargets to) { to[0].add(dy); });
    backward(y, gradient);
  }
  EXPECT_EQ(x.grad().device(), device());
  expect_near(x.grad(), sum_of(gradient, gradient));
}

TEST_P(DeviceTensorTest, AGradientGoesToTheMemoryThatALeafIsBoundTo) {
  Leaf x(random({5}));
  x.bind_gradient(Tensor::full({5}, 100, device()));
  Tensor y = x.tensor().clone();
  record(y, {&x.tensor()}, [](const Tensor& dy, GradTargets to) { to[0].add(dy); });
  backward(y, random({5}, 2));
  expect_same_bits(x.grad(), random({5}, 2));
}

TEST_P(DeviceTensorTest, PinnedMemoryIsReadWhileTheCpuGoesOn) {
  if (device() == Device{}) GTEST_SKIP() << "no copies to the CPU itself";
  const Storage pinned = device_memory::allocate_pinned(4000);
  Tensor host = Tensor::view_of(pinned, 0, {1000});
  host.copy_from(random_tensor({1000}));
  const Tensor there = Tensor::empty({1000}, DType::f32, device());
  device_memory::copy_async(there.raw(), device(), host.raw(), Device{}, 4000);
  device_memory::synchronize(device());
  std::memset(host.raw(), 0, 4000);
  expect_same_bits(there, random_tensor({1000}));
  device_memory::copy_async(host.raw(), Device{}, there.raw(), device(), 4000);
  device_memory::synchronize(device());
  expect_same_bits(host, random_tensor({1000}));
}

TEST(Devices, SayWhatIsThereOrWhyNothingIs) {
  const GpuReport report = describe_gpus();
  EXPECT_EQ(static_cast<int>(report.gpus.size()), gpu_count());
  EXPECT_EQ(report.missing.empty(), gpu_count() > 0);
  for (const GpuInfo& gpu : report.gpus) {
    EXPECT_FALSE(gpu.name.empty());
    EXPECT_GT(gpu.memory_total, 0);
    EXPECT_LE(gpu.memory_free, gpu.memory_total);
    EXPECT_NE(gpu.capability.find('.'), std::string::npos);
  }
}

TEST(Devices, HandTensorsToEachOther) {
  if (gpu_count() < 2) GTEST_SKIP() << "fewer than two GPUs";
  const Device second{DeviceKind::cuda, 1};
  Tensor x = random_tensor({1000}).to({DeviceKind::cuda, 0});
  const Tensor there = x.to(second);
  EXPECT_EQ(there.device(), second);
  x = Tensor();
  const Tensor overwrites = Tensor::full({1000}, 7, {DeviceKind::cuda, 0});  // in the memory that x had
  device_memory::synchronize(overwrites.device());
  expect_same_bits(there, random_tensor({1000}));
}

TEST(Devices, OneThatIsNotThereIsAnError) {
  const Device nowhere{DeviceKind::cuda, 63};
  expect_error(ErrorCode::device, "cuda:63 is not there", [&] { Tensor::zeros({3}, DType::f32, nowhere); });
  expect_error(ErrorCode::device, "cuda:63 is not there", [&] { Tensor::zeros({3}).to(nowhere); });
}

}  // namespace
}  // namespace lockring
