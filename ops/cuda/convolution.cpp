#include "ops/cuda/convolution.h"

#include "core/cuda/allocator.h"
#include "core/cuda/stream.h"
#include "ops/cuda/convolution_plan.h"
#include "ops/cuda/direct.h"

#include <cstdint>
#include <string>

namespace lockring::kernels::cuda {
namespace {

using lockring::cuda::check_call;
using lockring::cuda::Scratch;

constexpr float kOne = 1;
constexpr float kZero = 0;

// Tensor cores read 16 bytes at once: a view that begins elsewhere is copied.
class Aligned {
 public:
  Aligned(const float* values, std::int64_t count) : copy_(is_aligned(values) ? 0 : count * kFloat), values_(values) {
    if (copy_.data() == nullptr) return;
    LOCKRING_CHECK_CUDA(cudaMemcpyAsync(copy_.data(), values, static_cast<std::size_t>(count * kFloat),
                                        cudaMemcpyDeviceToDevice, lockring::cuda::current_stream()));
    values_ = copy_.data<float>();
  }
  const float* data() const { return values_; }

  static bool is_aligned(const float* values) { return reinterpret_cast<std::uintptr_t>(values) % 16 == 0; }
  static constexpr std::int64_t kFloat = sizeof(float);

 private:
  Scratch copy_;
  const float* values_;
};

std::int64_t input_size(const ConvShape& s) { return s.n * s.h * s.w * s.in; }
std::int64_t result_size(const ConvShape& s) { return s.n * s.oh * s.ow * s.out; }
std::int64_t weight_size(const ConvShape& s) { return s.out * s.patch(); }

// Whether cuDNN has done it. If not, people learn why, and the caller computes it otherwise.
bool done(cudnnStatus_t status, const ConvShape& s) {
  if (status == CUDNN_STATUS_SUCCESS) [[likely]]
    return true;
  cudaGetLastError();
  say_direct(s, std::string("cuDNN does not: ") + cudnnGetErrorString(status));
  return false;
}

}  // namespace

void convolve(const ConvShape& s, const float* x, const float* w, float* y) {
  if (s.n == 0) return;
  const Aligned from(x, input_size(s));
  const Aligned weights(w, weight_size(s));
  const ConvolutionPlan& plan = convolution_plan(ConvolutionPass::forward, s, from.data(), weights.data(), y);
  const Scratch workspace(static_cast<std::int64_t>(plan.workspace_bytes));
  const auto convolve_by_cudnn = [&] {
    return cudnnConvolutionForward(lockring::cuda::cudnn_handle(), &kOne, plan.x, from.data(), plan.w, weights.data(),
                                   plan.convolution, static_cast<cudnnConvolutionFwdAlgo_t>(plan.algorithm),
                                   workspace.data(), plan.workspace_bytes, &kZero, plan.y, y);
  };
  if (plan.direct || !done(convolve_by_cudnn(), s)) direct_convolution(s, from.data(), weights.data(), y);
}

void convolve_input_gradient(const ConvShape& s, const float* dy, const float* w, float* dx) {
  if (s.n == 0) return;
  const Aligned gradient(dy, result_size(s));
  const Aligned weights(w, weight_size(s));
  const ConvolutionPlan& plan =
      convolution_plan(ConvolutionPass::input_gradient, s, gradient.data(), weights.data(), dx);
  const Scratch workspace(static_cast<std::int64_t>(plan.workspace_bytes));
  const auto gradient_by_cudnn = [&] {
    return cudnnConvolutionBackwardData(lockring::cuda::cudnn_handle(), &kOne, plan.w, weights.data(), plan.y,
                                        gradient.data(), plan.convolution,
                                        static_cast<cudnnConvolutionBwdDataAlgo_t>(plan.algorithm), workspace.data(),
                                        plan.workspace_bytes, &kZero, plan.x, dx);
  };
  if (plan.direct || !done(gradient_by_cudnn(), s)) direct_input_gradient(s, gradient.data(), weights.data(), dx);
}

void convolve_weight_gradient(const ConvShape& s, const float* x, const float* dy, bool accumulate, float* dw) {
  const std::int64_t bytes = weight_size(s) * Aligned::kFloat;
  if (s.n == 0) {
    if (!accumulate)
      LOCKRING_CHECK_CUDA(cudaMemsetAsync(dw, 0, static_cast<std::size_t>(bytes), lockring::cuda::current_stream()));
    return;
  }
  const Aligned from(x, input_size(s));
  const Aligned gradient(dy, result_size(s));
  const Scratch measured(bytes);  // measuring overwrites its result, which here may hold a sum
  const ConvolutionPlan& plan =
      convolution_plan(ConvolutionPass::weight_gradient, s, from.data(), gradient.data(), measured.data());
  const Scratch workspace(static_cast<std::int64_t>(plan.workspace_bytes));
  const auto gradient_by_cudnn = [&] {
    return cudnnConvolutionBackwardFilter(
        lockring::cuda::cudnn_handle(), &kOne, plan.x, from.data(), plan.y, gradient.data(), plan.convolution,
        static_cast<cudnnConvolutionBwdFilterAlgo_t>(plan.algorithm), workspace.data(), plan.workspace_bytes,
        accumulate ? &kOne : &kZero, plan.w, dw);
  };
  if (plan.direct || !done(gradient_by_cudnn(), s))
    direct_weight_gradient(s, from.data(), gradient.data(), accumulate, dw);
}

}  // namespace lockring::kernels::cuda
