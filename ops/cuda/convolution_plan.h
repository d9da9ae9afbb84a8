// What cuDNN is told of a convolution: descriptors, and the algorithm that was fastest; or that it does not do it.
#pragma once

#include "ops/conv2d_kernel.h"
#include "ops/cuda/handles.h"

#include <cstddef>

namespace lockring::kernels::cuda {

enum class ConvolutionPass { forward, input_gradient, weight_gradient };

class ConvolutionPlan {
 public:
  // Throws Error{usage} on a size beyond 2^31, which cuDNN does not take.
  ConvolutionPlan(const ConvShape& shape, DType dtype);
  ~ConvolutionPlan();
  ConvolutionPlan(const ConvolutionPlan&) = delete;
  ConvolutionPlan& operator=(const ConvolutionPlan&) = delete;

  // Measures the algorithms of a pass and keeps the best; false if there is none.
  bool measure(ConvolutionPass pass);

  // Elements of x, y and w.
  std::int64_t input_size() const { return shape_.n * shape_.h * shape_.w * shape_.in; }
  std::int64_t result_size() const { return shape_.n * shape_.oh * shape_.ow * shape_.out; }
  std::int64_t weight_size() const { return shape_.out * shape_.patch(); }

  DType dtype;  // of x, w and y
  cudnnTensorDescriptor_t x = nullptr;
  cudnnTensorDescriptor_t y = nullptr;
  cudnnFilterDescriptor_t w = nullptr;
  cudnnConvolutionDescriptor_t convolution = nullptr;
  bool direct = false;  // cuDNN has no algorithm: direct.h computes it
  int algorithm = 0;
  std::size_t workspace_bytes = 0;

 private:
  ConvShape shape_;
};

// The plan of a pass on the current GPU, measured if it is new. Of float32 where cuDNN has no algorithm for bfloat16.
// Any thread.
const ConvolutionPlan& convolution_plan(ConvolutionPass pass, const ConvShape& shape, DType dtype);

}  // namespace lockring::kernels::cuda
