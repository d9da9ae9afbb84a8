#include "core/device_graph.h"

#include "core/device_memory.h"
#include "core/devices.h"
#include "core/error.h"
#include "core/tensor.h"
#include "tests/support/errors.h"
#include "tests/support/tensors.h"

#include <gtest/gtest.h>

namespace lockring {
namespace {

constexpr Device kGpu{DeviceKind::cuda, 0};

class DeviceGraphTest : public testing::Test {
 protected:
  void SetUp() override {
    if (gpu_count() == 0) GTEST_SKIP() << "no GPU";
    x_ = Tensor::full({100}, 1, kGpu);
  }
  // x *= 2, with memory of its own.
  void twice() {
    const Tensor copy = x_.clone();
    device_memory::add(x_.reals(), copy.reals(), 100, kGpu);
  }
  float first() const { return x_.slice(0, 1).item(); }

  Tensor x_;
};

TEST_F(DeviceGraphTest, RunsAsOftenAsItIsLaunched) {
  DeviceGraph graph(kGpu);
  EXPECT_FALSE(graph.recorded());
  ASSERT_TRUE(graph.record([&] { twice(); }));
  EXPECT_EQ(first(), 1);
  for (int i = 0; i < 3; ++i) graph.launch();
  EXPECT_EQ(first(), 8);
}

// Nobody else gets the memory that it works with.
TEST_F(DeviceGraphTest, MemoryThatIsTakenLaterIsOthers) {
  DeviceGraph graph(kGpu);
  ASSERT_TRUE(graph.record([&] { twice(); }));
  const Tensor other = Tensor::full({100}, 7, kGpu);
  graph.launch();
  expect_same_bits(other, Tensor::full({100}, 7));
  EXPECT_EQ(first(), 2);
}

TEST_F(DeviceGraphTest, WhatCannotBeRecordedHasNotRun) {
  DeviceGraph graph(kGpu);
  float seen = 0;
  EXPECT_FALSE(graph.record([&] {
    twice();
    seen = x_.slice(0, 1).item();
  }));
  EXPECT_FALSE(graph.recorded());
  EXPECT_EQ(first(), 1);
  Tensor kept;
  EXPECT_FALSE(graph.record([&] { kept = x_.clone(); })) << "memory that outlives the recording";
  ASSERT_TRUE(graph.record([&] { twice(); })) << "a failure is not for ever";
  graph.launch();
  EXPECT_EQ(first(), 2);
}

TEST_F(DeviceGraphTest, OtherErrorsArePassedOn) {
  DeviceGraph graph(kGpu);
  expect_error(ErrorCode::usage, "mine", [&] { graph.record([] { fail(ErrorCode::usage, "mine"); }); });
  twice();
  EXPECT_EQ(first(), 2);
}

}  // namespace
}  // namespace lockring
