// The fake's NCCL: collectives wait for all their ranks, and misuse is caught.
#include <nccl.h>

#include "tests/fake_cuda/machine.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>
#include <vector>

namespace fake_cuda {
namespace {

// Two ranks, of devices 0 and 1.
class FakeNccl : public testing::Test {
 protected:
  void SetUp() override {
    ncclUniqueId id;
    ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess);
    ASSERT_EQ(ncclGroupStart(), ncclSuccess);
    for (int rank = 0; rank < 2; ++rank) {
      ASSERT_EQ(cudaSetDevice(rank), cudaSuccess);
      ASSERT_EQ(ncclCommInitRank(&comms_[rank], 2, id, rank), ncclSuccess);
      ASSERT_EQ(cudaStreamCreateWithFlags(&streams_[rank], cudaStreamNonBlocking), cudaSuccess);
      ASSERT_EQ(cudaMalloc(&blocks_[rank], kBytes), cudaSuccess);
      const std::vector<float> values(kCount, static_cast<float>(rank + 1));
      ASSERT_EQ(cudaMemcpyAsync(blocks_[rank], values.data(), kBytes, cudaMemcpyHostToDevice, streams_[rank]),
                cudaSuccess);
    }
    ASSERT_EQ(ncclGroupEnd(), ncclSuccess);
  }
  void TearDown() override {
    for (const ncclComm_t comm : comms_) ncclCommAbort(comm);
    for (int rank = 0; rank < 2; ++rank) {
      cudaSetDevice(rank);
      cudaFree(blocks_[rank]);
      cudaStreamDestroy(streams_[rank]);
    }
    cudaSetDevice(0);
    last_misuse();
  }

  ncclResult_t add(int rank, std::size_t count = kCount) {
    return ncclAllReduce(blocks_[rank], blocks_[rank], count, ncclFloat, ncclSum, comms_[rank], streams_[rank]);
  }
  float first_of(int rank) {
    std::vector<float> values(kCount);
    cudaSetDevice(rank);
    EXPECT_EQ(cudaMemcpyAsync(values.data(), blocks_[rank], kBytes, cudaMemcpyDeviceToHost, streams_[rank]),
              cudaSuccess);
    return values[0];
  }

  static constexpr std::size_t kCount = 10, kBytes = kCount * sizeof(float);
  ncclComm_t comms_[2] = {};
  cudaStream_t streams_[2] = {};
  float* blocks_[2] = {};
};

TEST_F(FakeNccl, AnAllReduceWaitsForWhatIsBeforeItOnAllStreams) {
  ASSERT_EQ(add(0), ncclSuccess);
  ASSERT_EQ(add(1), ncclSuccess);
  EXPECT_EQ(first_of(1), 3);
  EXPECT_EQ(first_of(0), 3);
}

TEST_F(FakeNccl, ABroadcastGivesTheRootsBytes) {
  ASSERT_EQ(ncclGroupStart(), ncclSuccess);
  for (int rank = 0; rank < 2; ++rank)
    ASSERT_EQ(ncclBroadcast(blocks_[rank], blocks_[rank], kBytes, ncclUint8, 1, comms_[rank], streams_[rank]),
              ncclSuccess);
  EXPECT_EQ(first_of(0), 1);  // the group has not ended
  ASSERT_EQ(ncclGroupEnd(), ncclSuccess);
  EXPECT_EQ(first_of(0), 2);
  EXPECT_EQ(first_of(1), 2);
}

TEST_F(FakeNccl, OneRankAloneIsHeldUntilTheOtherCallsOrItIsAborted) {
  ASSERT_EQ(add(0), ncclSuccess);
  std::thread late([this] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_EQ(add(1), ncclSuccess);
  });
  EXPECT_EQ(first_of(0), 3);
  late.join();
  ASSERT_EQ(add(0), ncclSuccess);
  cudaEvent_t event = nullptr;
  ASSERT_EQ(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), cudaSuccess);
  ASSERT_EQ(cudaEventRecord(event, streams_[0]), cudaSuccess);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(cudaEventQuery(event), cudaErrorNotReady);
  ASSERT_EQ(ncclCommAbort(comms_[0]), ncclSuccess);
  EXPECT_EQ(cudaStreamSynchronize(streams_[0]), cudaSuccess);
  EXPECT_EQ(cudaEventQuery(event), cudaSuccess);
  cudaEventDestroy(event);
}

TEST_F(FakeNccl, ABrokenCollectiveIsAnErrorOfItsRanks) {
  break_next_collective();
  ASSERT_EQ(add(0), ncclSuccess);
  ASSERT_EQ(add(1), ncclSuccess);
  cudaEvent_t event = nullptr;
  ASSERT_EQ(cudaSetDevice(0), cudaSuccess);
  ASSERT_EQ(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), cudaSuccess);
  ASSERT_EQ(cudaEventRecord(event, streams_[0]), cudaSuccess);
  ncclResult_t state = ncclSuccess;
  for (int i = 0; i < 5; ++i) EXPECT_EQ(cudaEventQuery(event), cudaErrorNotReady);
  EXPECT_EQ(cudaGetLastError(), cudaErrorNotReady);
  ASSERT_EQ(ncclCommGetAsyncError(comms_[0], &state), ncclSuccess);
  EXPECT_EQ(state, ncclRemoteError);
  EXPECT_EQ(add(0), ncclInvalidUsage);
  cudaEventDestroy(event);
}

TEST_F(FakeNccl, MisuseIsRefused) {
  EXPECT_EQ(ncclAllReduce(blocks_[1], blocks_[1], kCount, ncclFloat, ncclSum, comms_[0], streams_[0]),
            ncclInvalidArgument);
  EXPECT_NE(std::string(ncclGetLastError(comms_[0])).find("not the communicator's device's"), std::string::npos);
  EXPECT_EQ(add(0, kCount + 1), ncclInvalidArgument);
  std::vector<float> host(kCount);
  EXPECT_EQ(ncclAllReduce(host.data(), host.data(), kCount, ncclFloat, ncclSum, comms_[0], streams_[0]),
            ncclInvalidArgument);
  EXPECT_EQ(ncclAllReduce(blocks_[0], blocks_[0] + 1, kCount - 1, ncclFloat, ncclSum, comms_[0], streams_[0]),
            ncclInvalidArgument);
  EXPECT_EQ(ncclAllReduce(blocks_[0], blocks_[0], kCount, ncclUint8, ncclSum, comms_[0], streams_[0]),
            ncclInvalidArgument);
  EXPECT_EQ(ncclAllReduce(blocks_[0], blocks_[0], kCount, ncclFloat, ncclSum, comms_[0], streams_[1]),
            ncclInvalidUsage);
  EXPECT_EQ(ncclAllReduce(blocks_[0], blocks_[0], kCount, ncclFloat, ncclSum, comms_[0], nullptr), ncclInvalidUsage);
  EXPECT_EQ(ncclBroadcast(blocks_[0], blocks_[0], kBytes, ncclUint8, 2, comms_[0], streams_[0]), ncclInvalidArgument);
  EXPECT_EQ(ncclAllReduce(blocks_[0], blocks_[0], kCount, ncclFloat, ncclSum, nullptr, streams_[0]),
            ncclInvalidArgument);
  EXPECT_EQ(ncclGroupEnd(), ncclInvalidUsage);
}

TEST_F(FakeNccl, MemoryIsNotAskedForWhileOthersWait) {
  ASSERT_EQ(add(0), ncclSuccess);
  ASSERT_EQ(cudaSetDevice(1), cudaSuccess);
  void* block = nullptr;
  EXPECT_NE(cudaMalloc(&block, 16), cudaSuccess);
  EXPECT_NE(last_misuse().find("cudaMalloc while other devices wait"), std::string::npos);
  EXPECT_NE(cudaHostAlloc(&block, 16, cudaHostAllocPortable), cudaSuccess);
  ASSERT_EQ(cudaSetDevice(0), cudaSuccess);
  EXPECT_EQ(cudaMalloc(&block, 16), cudaSuccess);  // nobody waits for this one
  last_misuse();
  ASSERT_EQ(add(1), ncclSuccess);
  EXPECT_EQ(cudaFree(block), cudaSuccess);
}

TEST_F(FakeNccl, RanksAskForTheSame) {
  ASSERT_EQ(add(0), ncclSuccess);
  EXPECT_EQ(add(1, kCount - 1), ncclInvalidArgument);
  EXPECT_NE(last_misuse().find("another collective"), std::string::npos);
  EXPECT_EQ(ncclCommDestroy(comms_[0]), ncclInvalidUsage);  // it still works
}

TEST_F(FakeNccl, ACliqueHasOneRankADevice) {
  ncclUniqueId id;
  ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess);
  ASSERT_EQ(cudaSetDevice(0), cudaSuccess);
  ncclComm_t first = nullptr, second = nullptr;
  ASSERT_EQ(ncclGroupStart(), ncclSuccess);
  ASSERT_EQ(ncclCommInitRank(&first, 2, id, 0), ncclSuccess);
  EXPECT_EQ(ncclCommInitRank(&second, 2, id, 1), ncclInvalidUsage);
  ASSERT_EQ(cudaSetDevice(1), cudaSuccess);
  EXPECT_EQ(ncclCommInitRank(&second, 2, id, 0), ncclInvalidUsage);
  EXPECT_EQ(ncclCommInitRank(&second, 3, id, 1), ncclInvalidArgument);
  EXPECT_EQ(ncclCommInitRank(&second, 2, id, 2), ncclInvalidArgument);
  EXPECT_EQ(ncclCommInitRank(&second, 2, ncclUniqueId{}, 1), ncclInvalidArgument);
  ASSERT_EQ(ncclCommInitRank(&second, 2, id, 1), ncclSuccess);
  ASSERT_EQ(ncclGroupEnd(), ncclSuccess);
  EXPECT_EQ(ncclCommDestroy(first), ncclSuccess);
  EXPECT_EQ(ncclCommDestroy(second), ncclSuccess);
  EXPECT_EQ(ncclCommDestroy(second), ncclInvalidArgument);
}

}  // namespace
}  // namespace fake_cuda
