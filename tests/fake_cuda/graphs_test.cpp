// The fake's graphs: what is captured runs when it is launched, and what cannot be captured is refused.
#include "tests/fake_cuda/machine.h"

#include <gtest/gtest.h>

namespace fake_cuda {
namespace {

class FakeGraphs : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), cudaSuccess);
    ASSERT_EQ(cudaMalloc(&block_, sizeof(int)), cudaSuccess);
    ASSERT_EQ(cudaHostAlloc(reinterpret_cast<void**>(&pinned_), 2 * sizeof(int), cudaHostAllocPortable), cudaSuccess);
  }
  void TearDown() override {
    if (is_captured(stream_)) end();
    cudaFree(block_);
    cudaFreeHost(pinned_);
    cudaStreamDestroy(stream_);
    last_misuse();
  }

  void begin() { ASSERT_EQ(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal), cudaSuccess); }
  cudaError_t end() {
    cudaGraph_t graph = nullptr;
    const cudaError_t error = cudaStreamEndCapture(stream_, &graph);
    if (error != cudaSuccess) return error;
    EXPECT_EQ(cudaGraphInstantiate(&runnable_, graph, 0), cudaSuccess);
    return cudaGraphDestroy(graph);
  }

  cudaStream_t stream_ = nullptr;
  cudaGraphExec_t runnable_ = nullptr;
  int* block_ = nullptr;
  int* pinned_ = nullptr;
};

TEST_F(FakeGraphs, RunOnlyWhenTheyAreLaunchedAndReadWhatIsThereThen) {
  pinned_[1] = 0;
  begin();
  ASSERT_EQ(cudaMemcpyAsync(block_, pinned_, 4, cudaMemcpyHostToDevice, stream_), cudaSuccess);
  ASSERT_EQ(cudaMemcpyAsync(pinned_ + 1, block_, 4, cudaMemcpyDeviceToHost, stream_), cudaSuccess);
  ASSERT_EQ(end(), cudaSuccess);
  ASSERT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
  EXPECT_EQ(pinned_[1], 0);
  for (const int value : {5, 9}) {
    pinned_[0] = value;
    ASSERT_EQ(cudaGraphLaunch(runnable_, stream_), cudaSuccess);
    EXPECT_NE(pinned_[1], value);
    ASSERT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
    EXPECT_EQ(pinned_[1], value);
  }
  ASSERT_EQ(cudaGraphExecDestroy(runnable_), cudaSuccess);
  EXPECT_EQ(cudaGraphLaunch(runnable_, stream_), cudaErrorInvalidResourceHandle);
}

TEST_F(FakeGraphs, WhatWaitsOrTakesMemoryBreaksACapture) {
  int pageable = 0;
  cudaEvent_t event = nullptr;
  cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
  void* taken = nullptr;
  const std::function<cudaError_t()> calls[] = {
      [&] { return cudaStreamSynchronize(stream_); },
      [&] { return cudaDeviceSynchronize(); },
      [&] { return cudaEventRecord(event, stream_); },
      [&] { return cudaEventQuery(event); },
      [&] { return cudaEventSynchronize(event); },
      [&] { return cudaMalloc(&taken, 4); },
      [&] { return cudaFree(block_); },
      [&] { return cudaHostAlloc(&taken, 4, cudaHostAllocPortable); },
      [&] { return cudaMemcpyAsync(block_, &pageable, 4, cudaMemcpyHostToDevice, stream_); },
  };
  for (const auto& call : calls) {
    begin();
    EXPECT_EQ(call(), cudaErrorStreamCaptureUnsupported);
    EXPECT_EQ(cudaMemsetAsync(block_, 0, 4, stream_), cudaErrorStreamCaptureInvalidated);
    EXPECT_EQ(end(), cudaErrorStreamCaptureInvalidated);
  }
  EXPECT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
  cudaEventDestroy(event);
}

TEST_F(FakeGraphs, MemoryMayBeTakenInTheRelaxedMode) {
  begin();
  void* taken = nullptr;
  cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
  cudaThreadExchangeStreamCaptureMode(&mode);
  EXPECT_EQ(cudaMalloc(&taken, 4), cudaSuccess);
  cudaThreadExchangeStreamCaptureMode(&mode);
  EXPECT_EQ(mode, cudaStreamCaptureModeRelaxed);
  EXPECT_EQ(end(), cudaSuccess);
  cudaGraphExecDestroy(runnable_);
  cudaFree(taken);
}

}  // namespace
}  // namespace fake_cuda
