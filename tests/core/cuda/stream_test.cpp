#include "core/cuda/stream.h"

#include "core/cuda/check.h"
#include "core/device_memory.h"
#include "core/devices.h"
#include "core/tensor.h"
#include "tests/support/errors.h"
#include "tests/support/tensors.h"

#include <gtest/gtest.h>

#include <thread>

namespace lockring::cuda {
namespace {

class CudaStreamTest : public testing::Test {
 protected:
  void SetUp() override {
    if (gpu_count() == 0) GTEST_SKIP() << "no GPU";
    select_gpu(0);
  }
  static constexpr Device kGpu{DeviceKind::cuda, 0};
};

TEST_F(CudaStreamTest, EachThreadHasItsOwn) {
  cudaStream_t mine = current_stream();
  EXPECT_NE(mine, nullptr);
  EXPECT_EQ(current_stream(), mine);
  cudaStream_t other = mine;
  std::thread([&] { other = current_stream(); }).join();
  EXPECT_NE(other, mine);
}

TEST_F(CudaStreamTest, AnEventHoldsAnotherStream) {
  const Tensor from = Tensor::full({1000}, 3, kGpu);
  Tensor to = Tensor::empty({1000}, DType::f32, kGpu);
  Event filled;
  filled.record(current_stream());
  const Stream further;
  filled.hold(further.get());
  LOCKRING_CHECK_CUDA(cudaMemcpyAsync(to.raw(), from.raw(), 4000, cudaMemcpyDeviceToDevice, further.get()));
  Event copied;
  copied.record(further.get());
  copied.synchronize();
  expect_near(to, Tensor::full({1000}, 3));
}

TEST_F(CudaStreamTest, AnErrorCarriesTheCallAndItsPlace) {
  expect_error(ErrorCode::device, "cudaSetDevice(1000) failed at core/cuda/stream_test.cpp:", [] {
    LOCKRING_CHECK_CUDA(cudaSetDevice(1000));
  });
  expect_error(ErrorCode::device, "cuda:1000 is not there", [] { select_gpu(1000); });
  expect_error(ErrorCode::device, "cuda:-1 is not there", [] { select_gpu(-1); });
  EXPECT_EQ(current_gpu(), 0);
}

TEST_F(CudaStreamTest, WorkOfAThreadThatEndsIsDone) {
  Tensor tensor = Tensor::empty({1000}, DType::f32, kGpu);
  device_memory::synchronize(kGpu);
  std::thread([&] { device_memory::fill(tensor.data(), 1000, 5, kGpu); }).join();
  expect_near(tensor, Tensor::full({1000}, 5));
}

}  // namespace
}  // namespace lockring::cuda
