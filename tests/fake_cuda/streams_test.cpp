// The fake's streams: work is late, and what is not ordered goes wrong.
#include "tests/fake_cuda/machine.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

namespace fake_cuda {
namespace {

class FakeStreams : public testing::Test {
 protected:
  void SetUp() override {
    for (cudaStream_t* stream : {&first_, &second_})
      ASSERT_EQ(cudaStreamCreateWithFlags(stream, cudaStreamNonBlocking), cudaSuccess);
    ASSERT_EQ(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming), cudaSuccess);
    ASSERT_EQ(cudaMalloc(&block_, sizeof(int)), cudaSuccess);
    ASSERT_EQ(cudaHostAlloc(reinterpret_cast<void**>(&pinned_), sizeof(int), cudaHostAllocPortable), cudaSuccess);
  }
  void TearDown() override {
    cudaFree(block_);
    cudaFreeHost(pinned_);
    cudaEventDestroy(event_);
    cudaStreamDestroy(first_);
    cudaStreamDestroy(second_);
    last_misuse();
  }

  void set(cudaStream_t stream, int byte) { ASSERT_EQ(cudaMemsetAsync(block_, byte, 4, stream), cudaSuccess); }
  void read(cudaStream_t stream) {
    ASSERT_EQ(cudaMemcpyAsync(pinned_, block_, 4, cudaMemcpyDeviceToHost, stream), cudaSuccess);
  }

  cudaStream_t first_ = nullptr, second_ = nullptr;
  cudaEvent_t event_ = nullptr;
  int* block_ = nullptr;
  int* pinned_ = nullptr;
};

TEST_F(FakeStreams, NothingIsThereBeforeItIsWaitedFor) {
  *pinned_ = 5;
  set(first_, 0);
  read(first_);
  EXPECT_EQ(*pinned_, 5);
  EXPECT_EQ(cudaStreamSynchronize(first_), cudaSuccess);
  EXPECT_EQ(*pinned_, 0);
}

TEST_F(FakeStreams, APinnedBlockIsReadLate) {
  *pinned_ = 1;
  ASSERT_EQ(cudaMemcpyAsync(block_, pinned_, 4, cudaMemcpyHostToDevice, first_), cudaSuccess);
  *pinned_ = 2;  // too early
  read(first_);
  ASSERT_EQ(cudaStreamSynchronize(first_), cudaSuccess);
  EXPECT_EQ(*pinned_, 2);
}

TEST_F(FakeStreams, AnotherStreamIsNotWaitedForWithoutAnEvent) {
  set(first_, 0);
  read(second_);
  ASSERT_EQ(cudaStreamSynchronize(second_), cudaSuccess);
  EXPECT_EQ(*pinned_, -1);  // fresh memory
}

TEST_F(FakeStreams, AnEventOrdersStreams) {
  set(first_, 0);
  ASSERT_EQ(cudaEventRecord(event_, first_), cudaSuccess);
  set(first_, 1);
  ASSERT_EQ(cudaStreamWaitEvent(second_, event_, 0), cudaSuccess);
  read(second_);
  ASSERT_EQ(cudaStreamSynchronize(second_), cudaSuccess);
  EXPECT_EQ(*pinned_, 0);  // what came after the event is later still
}

TEST_F(FakeStreams, AnEventRecordedAgainLeavesThoseThatWait) {
  ASSERT_EQ(cudaEventRecord(event_, first_), cudaSuccess);
  ASSERT_EQ(cudaStreamWaitEvent(second_, event_, 0), cudaSuccess);
  set(first_, 0);
  ASSERT_EQ(cudaEventRecord(event_, first_), cudaSuccess);
  read(second_);
  ASSERT_EQ(cudaStreamSynchronize(second_), cudaSuccess);
  EXPECT_EQ(*pinned_, -1);
  ASSERT_EQ(cudaEventSynchronize(event_), cudaSuccess);
  read(second_);
  ASSERT_EQ(cudaStreamSynchronize(second_), cudaSuccess);
  EXPECT_EQ(*pinned_, 0);
}

TEST_F(FakeStreams, StreamsThatAreNoneAreRefused) {
  EXPECT_EQ(cudaMemsetAsync(block_, 0, 4, nullptr), cudaErrorInvalidResourceHandle);
  EXPECT_NE(last_misuse().find("default stream"), std::string::npos);
  cudaStream_t gone = nullptr;
  ASSERT_EQ(cudaStreamCreateWithFlags(&gone, cudaStreamNonBlocking), cudaSuccess);
  ASSERT_EQ(cudaStreamDestroy(gone), cudaSuccess);
  EXPECT_EQ(cudaMemsetAsync(block_, 0, 4, gone), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaStreamCreateWithFlags(&gone, 0), cudaErrorInvalidValue);
}

TEST_F(FakeStreams, AStreamOfAnotherDeviceIsRefused) {
  ASSERT_EQ(cudaSetDevice(1), cudaSuccess);
  EXPECT_EQ(cudaMemsetAsync(block_, 0, 4, first_), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaSetDevice(kDevices), cudaErrorInvalidDevice);
  ASSERT_EQ(cudaSetDevice(0), cudaSuccess);
}

void note_index(std::int64_t* order, std::int64_t* next) {
  order[(*next)++] = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
}

TEST_F(FakeStreams, ALaunchRunsEachThreadOnceInNoOrder) {
  constexpr std::int64_t kThreads = 3 * 64;
  std::int64_t* order = nullptr;
  ASSERT_EQ(cudaMalloc(&order, (kThreads + 1) * sizeof(std::int64_t)), cudaSuccess);
  std::vector<std::int64_t> runs[2];
  for (std::vector<std::int64_t>& run : runs) {
    ASSERT_EQ(cudaMemsetAsync(order + kThreads, 0, sizeof(std::int64_t), first_), cudaSuccess);
    const cudaLaunchConfig_t config{dim3(3), dim3(64), 0, first_};
    ASSERT_EQ(cudaLaunchKernelEx(&config, note_index, order, order + kThreads), cudaSuccess);
    run.resize(kThreads);
    ASSERT_EQ(cudaMemcpyAsync(run.data(), order, kThreads * sizeof(std::int64_t), cudaMemcpyDeviceToHost, first_),
              cudaSuccess);
  }
  EXPECT_NE(runs[0], runs[1]);
  std::vector<std::int64_t> all(kThreads);
  std::iota(all.begin(), all.end(), 0);
  EXPECT_TRUE(std::ranges::is_permutation(runs[0], all));
  EXPECT_FALSE(std::ranges::is_sorted(runs[0]));
  cudaFree(order);
}

TEST_F(FakeStreams, KernelsGetNoAddressesOfTheCpu) {
  cudaLaunchConfig_t config{dim3(1), dim3(1), 0, first_};
  int here = 0;
  const auto kernel = +[](int*) {};
  EXPECT_EQ(cudaLaunchKernelEx(&config, kernel, &here), cudaErrorIllegalAddress);
  EXPECT_EQ(cudaLaunchKernelEx(&config, kernel, pinned_), cudaErrorIllegalAddress);
  EXPECT_EQ(cudaLaunchKernelEx(&config, kernel, block_), cudaSuccess);
  config.blockDim = dim3(1025);
  EXPECT_EQ(cudaLaunchKernelEx(&config, kernel, block_), cudaErrorInvalidConfiguration);
  config.blockDim = dim3(0);
  EXPECT_EQ(cudaLaunchKernelEx(&config, kernel, block_), cudaErrorInvalidConfiguration);
  struct Large {
    char bytes[5000] = {};
  };
  config.blockDim = dim3(1);
  EXPECT_EQ(cudaLaunchKernelEx(
                &config, +[](Large) {}, Large{}),
            cudaErrorInvalidValue);
}

}  // namespace
}  // namespace fake_cuda
