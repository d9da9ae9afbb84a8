#include "ops/cuda/convolution.h"

#include "core/cuda/allocator.h"
#include "core/cuda/stream.h"
#include "ops/cuda/convolution_plan.h"
#include "ops/cuda/direct.h"
#include "ops/cuda/operand.h"

#include <cstdint>
#include <string>

namespace lockring::kernels::cuda {
namespace {

using lockring::cuda::Scratch;

constexpr float kOne = 1;
constexpr float kZero = 0;

// Whether cuDNN has done it. If not, people learn why, and the caller computes it otherwise.
bool done(cudnnStatus_t status, const ConvShape& s) {
  if (status == CUDNN_STATUS_SUCCESS) [[likely]]
    return true;
  cudaGetLastError();
  say_direct(s, std::string("cuDNN does not: ") + cudnnGetErrorString(status));
  return false;
}

const float* floats(const Operand& operand) { return static_cast<const float*>(operand.data()); }
float* floats(const Result& result) { return static_cast<float*>(result.data()); }

bool convolve_by_cudnn(const ConvolutionPlan& plan, const ConvShape& s, ConstReals x, const float* w, Reals y) {
  const Operand from(x, plan.input_size(), plan.dtype);
  const Operand weights(w, plan.weight_size(), plan.dtype);
  const Result to(y, plan.result_size(), plan.dtype);
  const Scratch workspace(static_cast<std::int64_t>(plan.workspace_bytes));
  if (!done(cudnnConvolutionForward(lockring::cuda::cudnn_handle(), &kOne, plan.x, from.data(), plan.w, weights.data(),
                                    plan.convolution, static_cast<cudnnConvolutionFwdAlgo_t>(plan.algorithm),
                                    workspace.data(), plan.workspace_bytes, &kZero, plan.y, to.data()),
            s))
    return false;
  to.deliver();
  return true;
}

bool input_gradient_by_cudnn(const ConvolutionPlan& plan, const ConvShape& s, ConstReals dy, const float* w, Reals dx) {
  const Operand gradient(dy, plan.result_size(), plan.dtype);
  const Operand weights(w, plan.weight_size(), plan.dtype);
  const Result to(dx, plan.input_size(), plan.dtype);
  const Scratch workspace(static_cast<std::int64_t>(plan.workspace_bytes));
  if (!done(cudnnConvolutionBackwardData(lockring::cuda::cudnn_handle(), &kOne, plan.w, weights.data(), plan.y,
                                         gradient.data(), plan.convolution,
                                         static_cast<cudnnConvolutionBwdDataAlgo_t>(plan.algorithm), workspace.data(),
                                         plan.workspace_bytes, &kZero, plan.x, to.data()),
            s))
    return false;
  to.deliver();
  return true;
}

// cuDNN gives the gradient the images' type; sums over micro-batches are of float32.
bool weight_gradient_by_cudnn(const ConvolutionPlan& plan, const ConvShape& s, ConstReals x, ConstReals dy,
                              bool accumulate, float* dw) {
  const Operand from(x, plan.input_size(), plan.dtype);
  const Operand gradient(dy, plan.result_size(), plan.dtype);
  const bool in_place = plan.dtype == DType::f32;
  const Scratch part(in_place ? 0 : plan.weight_size() * size_of(plan.dtype));
  const Scratch workspace(static_cast<std::int64_t>(plan.workspace_bytes));
  if (!done(cudnnConvolutionBackwardFilter(
                lockring::cuda::cudnn_handle(), &kOne, plan.x, from.data(), plan.y, gradient.data(), plan.convolution,
                static_cast<cudnnConvolutionBwdFilterAlgo_t>(plan.algorithm), workspace.data(), plan.workspace_bytes,
                in_place && accumulate ? &kOne : &kZero, plan.w, in_place ? dw : part.data()),
            s))
    return false;
  if (!in_place) add_cast({part.data(), plan.dtype}, plan.weight_size(), accumulate, dw);
  return true;
}

}  // namespace

void convolve(const ConvShape& s, ConstReals x, const float* w, Reals y) {
  if (s.n == 0) return;
  const ConvolutionPlan& plan = convolution_plan(ConvolutionPass::forward, s, x.dtype);
  if (!plan.direct && convolve_by_cudnn(plan, s, x, w, y)) return;
  const Operand from(x, plan.input_size(), DType::f32);
  const Result to(y, plan.result_size(), DType::f32);
  direct_convolution(s, floats(from), w, floats(to));
  to.deliver();
}

void convolve_input_gradient(const ConvShape& s, ConstReals dy, const float* w, Reals dx) {
  if (s.n == 0) return;
  const ConvolutionPlan& plan = convolution_plan(ConvolutionPass::input_gradient, s, dy.dtype);
  if (!plan.direct && input_gradient_by_cudnn(plan, s, dy, w, dx)) return;
  const Operand gradient(dy, plan.result_size(), DType::f32);
  const Result to(dx, plan.input_size(), DType::f32);
  direct_input_gradient(s, floats(gradient), w, floats(to));
  to.deliver();
}

void convolve_weight_gradient(const ConvShape& s, ConstReals x, ConstReals dy, bool accumulate, float* dw) {
  if (s.n == 0) {
    const auto bytes = static_cast<std::size_t>(s.out * s.patch()) * sizeof(float);
    if (!accumulate) LOCKRING_CHECK_CUDA(cudaMemsetAsync(dw, 0, bytes, lockring::cuda::current_stream()));
    return;
  }
  const ConvolutionPlan& plan = convolution_plan(ConvolutionPass::weight_gradient, s, x.dtype);
  if (!plan.direct && weight_gradient_by_cudnn(plan, s, x, dy, accumulate, dw)) return;
  const Operand from(x, plan.input_size(), DType::f32);
  const Operand gradient(dy, plan.result_size(), DType::f32);
  direct_weight_gradient(s, floats(from), floats(gradient), accumulate, dw);
}

}  // namespace lockring::kernels::cuda
