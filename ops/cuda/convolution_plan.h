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
  explicit ConvolutionPlan(const ConvShape& shape);
  ~ConvolutionPlan();
  ConvolutionPlan(const ConvolutionPlan&) = delete;
  ConvolutionPlan& operator=(const ConvolutionPlan&) = delete;

  // Measures the algorithms of a pass on these buffers and keeps the best. `result` is overwritten.
  void measure(ConvolutionPass pass, const void* first, const void* second, void* result);

  cudnnTensorDescriptor_t x = nullptr;
  cudnnTensorDescriptor_t y = nullptr;
  cudnnFilterDescriptor_t w = nullptr;
  cudnnConvolutionDescriptor_t convolution = nullptr;
  bool direct = false;  // cuDNN has no algorithm: direct.h computes it
  int algorithm = 0;
  std::size_t workspace_bytes = 0;
};

// The plan of a pass on the current GPU, measured on these buffers if it is new. Any thread.
const ConvolutionPlan& convolution_plan(ConvolutionPass pass, const ConvShape& shape, const void* first,
                                        const void* second, void* result);

}  // namespace lockring::kernels::cuda
