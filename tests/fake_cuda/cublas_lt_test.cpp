// The fake's checks of products: each misuse is caught.
#include <cublasLt.h>

#include "tests/fake_cuda/machine.h"

#include <gtest/gtest.h>

#include <vector>

namespace fake_cuda {
namespace {

// A' (3 x 4) times B (3 x 2) plus a bias of 4, with ReLU.
class FakeCublas : public testing::Test {
 protected:
  static constexpr std::size_t kWorkspace = 4096;

  void SetUp() override {
    ASSERT_EQ(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), cudaSuccess);
    cublasLtCreate(&handle_);
    cublasLtMatmulDescCreate(&product_, CUBLAS_COMPUTE_32F_FAST_TF32, CUDA_R_32F);
    cublasLtMatrixLayoutCreate(&a_, CUDA_R_32F, 3, 4, 3);
    cublasLtMatrixLayoutCreate(&b_, CUDA_R_32F, 3, 2, 3);
    cublasLtMatrixLayoutCreate(&d_, CUDA_R_32F, 4, 2, 4);
    cudaMalloc(&block_, 64 * sizeof(float));
    cudaMalloc(&workspace_, kWorkspace);
    set(CUBLASLT_MATMUL_DESC_TRANSA, CUBLAS_OP_T);
    set(CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_RELU_BIAS);
    set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, const_cast<const float*>(block_ + 48));
  }
  void TearDown() override {
    cublasLtMatrixLayoutDestroy(a_);
    cublasLtMatrixLayoutDestroy(b_);
    cublasLtMatrixLayoutDestroy(d_);
    cublasLtMatmulDescDestroy(product_);
    cublasLtDestroy(handle_);
    cudaFree(block_);
    cudaFree(workspace_);
    cudaStreamDestroy(stream_);
    last_misuse();
  }

  template <class T>
  void set(cublasLtMatmulDescAttributes_t attribute, T value) {
    ASSERT_EQ(cublasLtMatmulDescSetAttribute(product_, attribute, &value, sizeof(value)), CUBLAS_STATUS_SUCCESS);
  }

  // How many algorithms there are for pointers of this alignment.
  int choose(std::uint32_t alignment, std::uint64_t workspace = kWorkspace) {
    cublasLtMatmulPreference_t preference = nullptr;
    cublasLtMatmulPreferenceCreate(&preference);
    cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace, 8);
    for (int i = 0; i < 4; ++i)
      cublasLtMatmulPreferenceSetAttribute(
          preference, static_cast<cublasLtMatmulPreferenceAttributes_t>(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES + i),
          &alignment, 4);
    cublasLtMatmulHeuristicResult_t result{};
    int found = 0;
    cublasLtMatmulAlgoGetHeuristic(handle_, product_, a_, b_, d_, d_, preference, 1, &result, &found);
    cublasLtMatmulPreferenceDestroy(preference);
    algorithm_ = result.algo;
    return found;
  }

  // "" or what is wrong with the product.
  std::string run(const float* a, std::size_t workspace = kWorkspace) {
    const float one = 1;
    const float zero = 0;
    const cublasStatus_t status = cublasLtMatmul(handle_, product_, &one, a, a_, block_ + 16, b_, &zero, block_ + 32,
                                                 d_, block_ + 32, d_, &algorithm_, workspace_, workspace, stream_);
    const std::string problem = last_misuse();
    EXPECT_EQ(status == CUBLAS_STATUS_SUCCESS, problem.empty()) << problem;
    return problem;
  }

  cudaStream_t stream_ = nullptr;
  cublasLtHandle_t handle_ = nullptr;
  cublasLtMatmulDesc_t product_ = nullptr;
  cublasLtMatrixLayout_t a_ = nullptr, b_ = nullptr, d_ = nullptr;
  cublasLtMatmulAlgo_t algorithm_{};
  float* block_ = nullptr;
  void* workspace_ = nullptr;
};

TEST_F(FakeCublas, MultipliesAddsTheBiasAndCuts) {
  std::vector<float> values(64, 1);
  for (int i = 0; i < 3; ++i) values[static_cast<std::size_t>(i)] = -2;  // the first column of A
  cudaMemcpyAsync(block_, values.data(), 64 * sizeof(float), cudaMemcpyHostToDevice, stream_);
  ASSERT_EQ(choose(64), 1);
  EXPECT_EQ(run(block_), "");
  std::vector<float> d(8);
  cudaMemcpyAsync(d.data(), block_ + 32, 8 * sizeof(float), cudaMemcpyDeviceToHost, stream_);
  EXPECT_EQ(d, (std::vector<float>{0, 4, 4, 4, 0, 4, 4, 4}));
}

TEST_F(FakeCublas, RefusesPointersThatAreNotWhatWasPromised) {
  ASSERT_EQ(choose(64), 1);
  EXPECT_EQ(run(block_ + 1), "a matrix that is less aligned than was promised");
  ASSERT_EQ(choose(4), 1);
  EXPECT_EQ(run(block_ + 1), "");
  const std::vector<float> host(12);
  EXPECT_EQ(run(host.data()), "a matrix beyond its block");
  EXPECT_EQ(run(block_ + 53), "a matrix beyond its block");
  set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, host.data());
  EXPECT_EQ(run(block_), "a bias beyond its block");
}

TEST_F(FakeCublas, RefusesAnAlgorithmOfAnotherProduct) {
  ASSERT_EQ(choose(64), 1);
  set(CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS);
  EXPECT_EQ(run(block_), "an algorithm that was chosen for another product");
}

TEST_F(FakeCublas, RefusesWorkspacesAndSizesThatDoNotFit) {
  EXPECT_EQ(choose(64, 10), 0);
  ASSERT_EQ(choose(64), 1);
  EXPECT_EQ(run(block_, 10), "a workspace that is too small or misaligned");
  set(CUBLASLT_MATMUL_DESC_TRANSA, CUBLAS_OP_N);
  EXPECT_EQ(choose(64), 0);
  EXPECT_EQ(last_misuse(), "matrices whose sizes do not fit");
  cublasLtMatrixLayout_t layout = nullptr;
  EXPECT_NE(cublasLtMatrixLayoutCreate(&layout, CUDA_R_32F, 3, 4, 2), CUBLAS_STATUS_SUCCESS);
  EXPECT_NE(cublasLtMatmulDescSetAttribute(product_, CUBLASLT_MATMUL_DESC_TRANSA, &layout, 1), CUBLAS_STATUS_SUCCESS);
}

}  // namespace
}  // namespace fake_cuda
