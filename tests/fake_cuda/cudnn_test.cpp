// The fake's checks of convolutions: each misuse is caught.
#include <cudnn.h>

#include "tests/fake_cuda/machine.h"

#include <gtest/gtest.h>

#include <vector>

namespace fake_cuda {
namespace {

// x [2][4][4][8] * w [3][3][3][8] -> y [2][2][2][3].
class FakeCudnn : public testing::Test {
 protected:
  static constexpr int kX = 2 * 4 * 4 * 8, kW = 3 * 3 * 3 * 8, kY = 2 * 2 * 2 * 3;
  static constexpr std::size_t kWorkspace = 1 << 16;

  void SetUp() override {
    ASSERT_EQ(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), cudaSuccess);
    cudnnCreate(&handle_);
    cudnnSetStream(handle_, stream_);
    cudnnCreateTensorDescriptor(&x_shape_);
    cudnnCreateTensorDescriptor(&y_shape_);
    cudnnCreateFilterDescriptor(&w_shape_);
    cudnnCreateConvolutionDescriptor(&convolution_);
    cudnnSetTensor4dDescriptor(x_shape_, CUDNN_TENSOR_NHWC, CUDNN_DATA_FLOAT, 2, 8, 4, 4);
    cudnnSetTensor4dDescriptor(y_shape_, CUDNN_TENSOR_NHWC, CUDNN_DATA_FLOAT, 2, 3, 2, 2);
    cudnnSetFilter4dDescriptor(w_shape_, CUDNN_DATA_FLOAT, CUDNN_TENSOR_NHWC, 3, 8, 3, 3);
    cudnnSetConvolution2dDescriptor(convolution_, 0, 0, 1, 1, 1, 1, CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT);
    cudaMalloc(&x_, kX * sizeof(float));
    cudaMalloc(&w_, kW * sizeof(float));
    cudaMalloc(&y_, kY * sizeof(float));
    cudaMalloc(&workspace_, kWorkspace);
  }
  void TearDown() override {
    for (void* block : {static_cast<void*>(x_), static_cast<void*>(w_), static_cast<void*>(y_), workspace_})
      cudaFree(block);
    cudnnDestroyTensorDescriptor(x_shape_);
    cudnnDestroyTensorDescriptor(y_shape_);
    cudnnDestroyFilterDescriptor(w_shape_);
    cudnnDestroyConvolutionDescriptor(convolution_);
    cudnnDestroy(handle_);
    cudaStreamDestroy(stream_);
    last_misuse();
  }

  // "" or what is wrong with the convolution.
  std::string run(int algorithm = 1, std::size_t workspace = kWorkspace) {
    return run_on(x_, w_, y_, algorithm, workspace);
  }
  std::string run_on(const float* x, const float* w, float* y, int algorithm = 1, std::size_t workspace = kWorkspace) {
    const float one = 1;
    const float zero = 0;
    const cudnnStatus_t status = cudnnConvolutionForward(handle_, &one, x_shape_, x, w_shape_, w, convolution_,
                                                         static_cast<cudnnConvolutionFwdAlgo_t>(algorithm), workspace_,
                                                         workspace, &zero, y_shape_, y);
    const std::string problem = last_misuse();
    EXPECT_EQ(status == CUDNN_STATUS_SUCCESS, problem.empty()) << problem;
    return problem;
  }

  cudaStream_t stream_ = nullptr;
  cudnnHandle_t handle_ = nullptr;
  cudnnTensorDescriptor_t x_shape_ = nullptr, y_shape_ = nullptr;
  cudnnFilterDescriptor_t w_shape_ = nullptr;
  cudnnConvolutionDescriptor_t convolution_ = nullptr;
  float *x_ = nullptr, *w_ = nullptr, *y_ = nullptr;
  void* workspace_ = nullptr;
};

TEST_F(FakeCudnn, ConvolvesLate) {
  const std::vector<float> ones(kX, 1);
  cudaMemcpyAsync(x_, ones.data(), kX * sizeof(float), cudaMemcpyHostToDevice, stream_);
  cudaMemcpyAsync(w_, ones.data(), kW * sizeof(float), cudaMemcpyHostToDevice, stream_);
  EXPECT_EQ(run(), "");
  std::vector<float> y(kY);
  cudaMemcpyAsync(y.data(), y_, kY * sizeof(float), cudaMemcpyDeviceToHost, stream_);
  EXPECT_EQ(y, std::vector<float>(kY, 72));
}

TEST_F(FakeCudnn, RefusesAHandleWithoutAStreamOrOfAnotherDevice) {
  cudaSetDevice(1);
  EXPECT_EQ(run(), "a handle of another device than the current one");
  cudaSetDevice(0);
  cudnnSetStream(handle_, nullptr);
  EXPECT_EQ(run(), "a handle without a stream");
}

TEST_F(FakeCudnn, RefusesDescriptorsThatAreNotSetOrDoNotFit) {
  cudnnTensorDescriptor_t unset = nullptr;
  cudnnCreateTensorDescriptor(&unset);
  std::swap(unset, x_shape_);
  EXPECT_EQ(run(), "a descriptor that was not set");
  std::swap(unset, x_shape_);
  cudnnDestroyTensorDescriptor(unset);
  cudnnSetTensor4dDescriptor(y_shape_, CUDNN_TENSOR_NHWC, CUDNN_DATA_FLOAT, 2, 3, 2, 1);
  EXPECT_EQ(run(), "descriptors whose sizes do not fit");
}

TEST_F(FakeCudnn, RefusesOtherLayouts) {
  EXPECT_NE(cudnnSetTensor4dDescriptor(x_shape_, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, 2, 8, 4, 4), 0);
  EXPECT_NE(cudnnSetTensor4dDescriptor(x_shape_, CUDNN_TENSOR_NHWC, CUDNN_DATA_FLOAT, 0, 8, 4, 4), 0);
  EXPECT_NE(cudnnSetFilter4dDescriptor(w_shape_, CUDNN_DATA_FLOAT, CUDNN_TENSOR_NCHW, 3, 8, 3, 3), 0);
  EXPECT_NE(cudnnSetConvolution2dDescriptor(convolution_, 0, 0, 1, 1, 1, 1, CUDNN_CONVOLUTION, CUDNN_DATA_FLOAT), 0);
}

TEST_F(FakeCudnn, RefusesBuffersOfTheCpuTooShortOrMisaligned) {
  const std::vector<float> host(kX);
  EXPECT_NE(run_on(host.data(), w_, y_).find("CPU"), std::string::npos);
  EXPECT_NE(run_on(x_, host.data(), y_).find("CPU"), std::string::npos);
  EXPECT_NE(run_on(w_, w_, y_).find("beyond"), std::string::npos);
  EXPECT_NE(run_on(x_, w_, y_ + 4).find("beyond"), std::string::npos);
  EXPECT_EQ(run_on(x_, x_ + 1, y_), "a tensor that is not aligned");
}

TEST_F(FakeCudnn, RefusesAWorkspaceThatIsTooSmall) {
  EXPECT_EQ(run(1, 100), "a workspace that is too small");
  EXPECT_EQ(run(1, kWorkspace + 1), "a workspace beyond its block");
  EXPECT_EQ(run(0, 0), "");
  EXPECT_EQ(run(7), "an algorithm that there is not");
}

TEST_F(FakeCudnn, MeasuringNamesTheWorkspaceAndOverwritesTheResult) {
  cudnnConvolutionFwdAlgoPerf_t found[4];
  int count = 0;
  cudaMemsetAsync(y_, 0, kY * sizeof(float), stream_);
  ASSERT_EQ(cudnnFindConvolutionForwardAlgorithmEx(handle_, x_shape_, x_, w_shape_, w_, convolution_, y_shape_, y_, 4,
                                                   &count, found, workspace_, kWorkspace),
            CUDNN_STATUS_SUCCESS);
  ASSERT_EQ(count, 3);
  EXPECT_EQ(found[0].determinism, CUDNN_NON_DETERMINISTIC);
  EXPECT_NE(run(found[0].algo, found[0].memory), "") << "nothing of ours is to take it";
  for (int i = 1; i < count; ++i) EXPECT_EQ(run(found[i].algo, found[i].memory), "");
  float value = 0;
  cudaMemcpyAsync(&value, y_, sizeof(value), cudaMemcpyDeviceToHost, stream_);
  EXPECT_NE(value, value);
}

}  // namespace
}  // namespace fake_cuda
