#include "core/cuda/allocator.h"

#include "core/cuda/stream.h"
#include "core/device_memory.h"
#include "core/devices.h"
#include "core/tensor.h"
#include "tests/support/errors.h"
#include "tests/support/tensors.h"

#include <gtest/gtest.h>

#include <thread>

namespace lockring::cuda {
namespace {

class CudaAllocatorTest : public testing::Test {
 protected:
  void SetUp() override {
    if (gpu_count() == 0) GTEST_SKIP() << "no GPU";
    select_gpu(0);
  }
  static constexpr Device kGpu{DeviceKind::cuda, 0};
};

TEST_F(CudaAllocatorTest, BlocksAreAlignedAndUsedAgain) {
  for (const std::int64_t bytes : {1, 511, 512, 513, 5000, 1 << 20}) {
    void* block = allocate(bytes);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % 256, 0) << bytes;
    deallocate(block, bytes);
    const std::int64_t held = held_bytes();
    void* again = allocate(bytes);
    EXPECT_EQ(again, block);
    EXPECT_EQ(held_bytes(), held);
    deallocate(again, bytes);
  }
}

TEST_F(CudaAllocatorTest, WhatAThreadLeavesServesOthers) {
  void* block = nullptr;
  std::thread([&] {
    block = allocate(54321);
    deallocate(block, 54321);
  }).join();
  void* mine = allocate(54321);
  EXPECT_EQ(mine, block);
  deallocate(mine, 54321);
}

TEST_F(CudaAllocatorTest, WhatAThreadOnlyFreesServesOthers) {
  std::thread([] {
    const auto round = [] {
      void* block = nullptr;
      std::thread([&] { block = allocate(7654321); }).join();
      deallocate(block, 7654321);
    };
    round();
    const std::int64_t held = held_bytes();
    for (int i = 0; i < 3; ++i) round();
    EXPECT_EQ(held_bytes(), held);
  }).join();
}

// A block goes to the stream's next user while the one before still waits to be run.
TEST_F(CudaAllocatorTest, ABlockIsUsedAgainInTheOrderOfItsStream) {
  Tensor sum = Tensor::zeros({1000}, DType::f32, kGpu);
  for (int i = 1; i <= 4; ++i) {
    const Tensor term = Tensor::full({1000}, static_cast<float>(i), kGpu);
    device_memory::add(sum.data(), term.data(), 1000, kGpu);
  }
  expect_near(sum, Tensor::full({1000}, 10));
}

TEST_F(CudaAllocatorTest, WhenMemoryIsFullWhatIsKeptIsGivenBack) {
  const std::int64_t before = held_bytes();
  deallocate(allocate(10'000'000), 10'000'000);
  EXPECT_GT(held_bytes(), before);
  expect_error(ErrorCode::device, "cuda:0 is out of memory: 1125899906842624 bytes",
               [] { allocate(std::int64_t{1} << 50); });
  EXPECT_LE(held_bytes(), before);
  deallocate(allocate(100), 100);  // and goes on
  expect_error(ErrorCode::device, "out of memory", [] { allocate(INT64_MAX); });
}

}  // namespace
}  // namespace lockring::cuda
