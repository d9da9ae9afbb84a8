// The fake's checks of memory: each misuse is caught.
#include "tests/fake_cuda/machine.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace fake_cuda {
namespace {

class FakeMemory : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), cudaSuccess);
    ASSERT_EQ(cudaMalloc(&block_, 1000), cudaSuccess);
  }
  void TearDown() override {
    cudaFree(block_);
    cudaStreamDestroy(stream_);
    last_misuse();
  }

  cudaStream_t stream_ = nullptr;
  char* block_ = nullptr;
};

using FakeMemoryDeathTest = FakeMemory;

TEST_F(FakeMemoryDeathTest, TheCpuCannotReadADevicesMemory) {
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block_) % 256, 0);
  EXPECT_DEATH(static_cast<void>(std::vector<char>(block_, block_ + 1)), "");
  EXPECT_DEATH(std::memset(block_, 0, 1), "");
  // Nor after work has run there.
  ASSERT_EQ(cudaMemsetAsync(block_, 0, 1000, stream_), cudaSuccess);
  ASSERT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
  EXPECT_DEATH(static_cast<void>(std::vector<char>(block_, block_ + 1)), "");
}

TEST_F(FakeMemory, CopiesGoThere) {
  const std::vector<char> from(1000, 7);
  std::vector<char> to(1000);
  EXPECT_EQ(cudaMemcpyAsync(block_, from.data(), 1000, cudaMemcpyHostToDevice, stream_), cudaSuccess);
  EXPECT_EQ(cudaMemcpyAsync(to.data(), block_, 1000, cudaMemcpyDeviceToHost, stream_), cudaSuccess);
  EXPECT_EQ(to, from);
}

TEST_F(FakeMemory, KindsOfPointersMustBeWhatACopySays) {
  std::vector<char> host(1000);
  for (const cudaMemcpyKind kind : {cudaMemcpyHostToHost, cudaMemcpyDeviceToDevice, cudaMemcpyDeviceToHost})
    EXPECT_EQ(cudaMemcpyAsync(block_, host.data(), 10, kind, stream_), cudaErrorInvalidMemcpyDirection) << kind;
  EXPECT_EQ(cudaMemcpyAsync(host.data(), block_, 10, cudaMemcpyHostToDevice, stream_), cudaErrorInvalidMemcpyDirection);
  EXPECT_EQ(cudaMemsetAsync(host.data(), 0, 10, stream_), cudaErrorInvalidValue);
}

TEST_F(FakeMemory, CopiesBeyondABlockAreRefused) {
  std::vector<char> host(2000);
  EXPECT_EQ(cudaMemcpyAsync(block_ + 1, host.data(), 1000, cudaMemcpyHostToDevice, stream_), cudaErrorInvalidValue);
  EXPECT_NE(last_misuse().find("beyond"), std::string::npos);
  EXPECT_EQ(cudaMemcpyAsync(host.data(), block_, 1001, cudaMemcpyDeviceToHost, stream_), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemsetAsync(block_, 0, 1001, stream_), cudaErrorInvalidValue);
}

TEST_F(FakeMemory, FreeingWhatIsNoBlockIsRefused) {
  char host = 0;
  EXPECT_EQ(cudaFree(&host), cudaErrorInvalidDevicePointer);
  EXPECT_EQ(cudaFree(block_ + 256), cudaErrorInvalidDevicePointer);
  EXPECT_EQ(cudaFreeHost(&host), cudaErrorInvalidValue);
}

TEST_F(FakeMemory, FreshAndFreedMemoryHoldsNans) {
  float value = 0;
  EXPECT_EQ(cudaMemcpyAsync(&value, block_, sizeof(value), cudaMemcpyDeviceToHost, stream_), cudaSuccess);
  EXPECT_NE(value, value);
}

TEST_F(FakeMemory, WritingBehindABlockIsFound) {
  const cudaLaunchConfig_t config{dim3(1), dim3(1), 0, stream_};
  ASSERT_EQ(cudaLaunchKernelEx(
                &config, +[](char* block, std::int64_t at) { block[at] = 1; }, block_, std::int64_t{1000}),
            cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(stream_), cudaErrorIllegalAddress);
  EXPECT_NE(last_misuse().find("beyond the end"), std::string::npos);
  // So that the tests after this one find it whole.
  const Access access;
  block_[1000] = static_cast<char>(0xCA);
}

TEST_F(FakeMemory, IsFullAtSomeTime) {
  void* block = nullptr;
  EXPECT_EQ(cudaMalloc(&block, std::size_t{5} << 30), cudaErrorMemoryAllocation);
  EXPECT_EQ(block, nullptr);
}

}  // namespace
}  // namespace fake_cuda
