#include "ops/cuda/convolution_plan.h"

#include "core/cuda/allocator.h"
#include "core/cuda/stream.h"
#include "core/error.h"
#include "core/notes.h"
#include "ops/cuda/direct.h"

#include <array>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <span>

namespace lockring::kernels::cuda {
namespace {

using lockring::cuda::check_call;
using lockring::cuda::Scratch;

constexpr int kMostAlgorithms = 16;
constexpr std::int64_t kMostWorkspace = std::int64_t{128} << 20;  // what an algorithm may ask for

int as_int(std::int64_t size) {
  check(size <= std::numeric_limits<int>::max(), "cuDNN takes no size of {}", size);
  return static_cast<int>(size);
}

// Whether sums are those of the definition, in whatever order. Transforms (FFT, Winograd) round otherwise.
bool sums_products(cudnnConvolutionFwdAlgo_t algorithm) { return algorithm < CUDNN_CONVOLUTION_FWD_ALGO_FFT; }
bool sums_products(cudnnConvolutionBwdDataAlgo_t algorithm) { return algorithm < CUDNN_CONVOLUTION_BWD_DATA_ALGO_FFT; }
bool sums_products(cudnnConvolutionBwdFilterAlgo_t algorithm) {
  return algorithm < CUDNN_CONVOLUTION_BWD_FILTER_ALGO_FFT || algorithm == CUDNN_CONVOLUTION_BWD_FILTER_ALGO_3;
}

// The fastest of what cuDNN found; it sorts them. One that repeats its bits, if there is any; without TF32, where
// float32 is meant to be exact, no transform. False if there is none.
template <class Found>
bool take_best(const std::array<Found, kMostAlgorithms>& found, int count, ConvolutionPlan& plan) {
  const bool rounds = plan.dtype == DType::bf16 || lockring::cuda::uses_tf32();
  const Found* best = nullptr;
  for (const Found& candidate : std::span(found).first(static_cast<std::size_t>(count))) {
    if (candidate.status != CUDNN_STATUS_SUCCESS || !(rounds || sums_products(candidate.algo))) continue;
    const bool repeats = candidate.determinism == CUDNN_DETERMINISTIC;
    if (best == nullptr || (repeats && best->determinism != CUDNN_DETERMINISTIC)) best = &candidate;
  }
  if (best == nullptr) return false;
  plan.algorithm = static_cast<int>(best->algo);
  plan.workspace_bytes = best->memory;
  if (rounds) LOCKRING_CHECK_CUDA(cudnnSetConvolutionMathType(plan.convolution, best->mathType));
  return true;
}

using Key = std::array<std::int64_t, 14>;
Key key_of(ConvolutionPass pass, const ConvShape& s, DType dtype) {
  return {lockring::cuda::current_gpu(),
          static_cast<std::int64_t>(pass),
          static_cast<std::int64_t>(dtype),
          s.n,
          s.h,
          s.w,
          s.in,
          s.oh,
          s.ow,
          s.out,
          s.kh,
          s.kw,
          s.stride,
          s.padding};
}

}  // namespace

ConvolutionPlan::ConvolutionPlan(const ConvShape& s, DType type) : dtype(type), shape_(s) {
  const cudnnDataType_t data = type == DType::bf16 ? CUDNN_DATA_BFLOAT16 : CUDNN_DATA_FLOAT;
  LOCKRING_CHECK_CUDA(cudnnCreateTensorDescriptor(&x));
  LOCKRING_CHECK_CUDA(cudnnCreateTensorDescriptor(&y));
  LOCKRING_CHECK_CUDA(cudnnCreateFilterDescriptor(&w));
  LOCKRING_CHECK_CUDA(cudnnCreateConvolutionDescriptor(&convolution));
  LOCKRING_CHECK_CUDA(
      cudnnSetTensor4dDescriptor(x, CUDNN_TENSOR_NHWC, data, as_int(s.n), as_int(s.in), as_int(s.h), as_int(s.w)));
  LOCKRING_CHECK_CUDA(
      cudnnSetTensor4dDescriptor(y, CUDNN_TENSOR_NHWC, data, as_int(s.n), as_int(s.out), as_int(s.oh), as_int(s.ow)));
  LOCKRING_CHECK_CUDA(
      cudnnSetFilter4dDescriptor(w, data, CUDNN_TENSOR_NHWC, as_int(s.out), as_int(s.in), as_int(s.kh), as_int(s.kw)));
  LOCKRING_CHECK_CUDA(cudnnSetConvolution2dDescriptor(convolution, as_int(s.padding), as_int(s.padding),
                                                      as_int(s.stride), as_int(s.stride), 1, 1, CUDNN_CROSS_CORRELATION,
                                                      CUDNN_DATA_FLOAT));
  // What cuDNN looks for among; it finds bfloat16 on tensor cores only when it is told so.
  const cudnnMathType_t in_float32 = lockring::cuda::uses_tf32() ? CUDNN_DEFAULT_MATH : CUDNN_FMA_MATH;
  LOCKRING_CHECK_CUDA(
      cudnnSetConvolutionMathType(convolution, type == DType::bf16 ? CUDNN_TENSOR_OP_MATH : in_float32));
}

ConvolutionPlan::~ConvolutionPlan() {
  cudnnDestroyTensorDescriptor(x);
  cudnnDestroyTensorDescriptor(y);
  cudnnDestroyFilterDescriptor(w);
  cudnnDestroyConvolutionDescriptor(convolution);
}

// On memory of its own, whatever it holds.
bool ConvolutionPlan::measure(ConvolutionPass pass) {
  const cudnnHandle_t handle = lockring::cuda::cudnn_handle();
  const std::int64_t element = size_of(dtype);
  const Scratch input(input_size() * element);
  const Scratch weights(weight_size() * element);
  const Scratch result(result_size() * element);
  const Scratch workspace(kMostWorkspace);
  const auto bytes = static_cast<std::size_t>(workspace.bytes());
  int count = 0;
  if (pass == ConvolutionPass::forward) {
    std::array<cudnnConvolutionFwdAlgoPerf_t, kMostAlgorithms> found{};
    LOCKRING_CHECK_CUDA(cudnnFindConvolutionForwardAlgorithmEx(handle, x, input.data(), w, weights.data(), convolution,
                                                               y, result.data(), kMostAlgorithms, &count, found.data(),
                                                               workspace.data(), bytes));
    return take_best(found, count, *this);
  }
  if (pass == ConvolutionPass::input_gradient) {
    std::array<cudnnConvolutionBwdDataAlgoPerf_t, kMostAlgorithms> found{};
    LOCKRING_CHECK_CUDA(cudnnFindConvolutionBackwardDataAlgorithmEx(handle, w, weights.data(), y, result.data(),
                                                                    convolution, x, input.data(), kMostAlgorithms,
                                                                    &count, found.data(), workspace.data(), bytes));
    return take_best(found, count, *this);
  }
  std::array<cudnnConvolutionBwdFilterAlgoPerf_t, kMostAlgorithms> found{};
  LOCKRING_CHECK_CUDA(cudnnFindConvolutionBackwardFilterAlgorithmEx(handle, x, input.data(), y, result.data(),
                                                                    convolution, w, weights.data(), kMostAlgorithms,
                                                                    &count, found.data(), workspace.data(), bytes));
  return take_best(found, count, *this);
}

namespace {

void say_in_float32(const ConvShape& s, const std::string& why) {
  say_once(fmt::format("{} x {} x {} images are convolved to {} channels in float32, not bfloat16: {}", s.h, s.w, s.in,
                       s.out, why));
}

std::unique_ptr<ConvolutionPlan> measured_plan(ConvolutionPass pass, const ConvShape& shape, DType dtype) {
  auto plan = std::make_unique<ConvolutionPlan>(shape, dtype);
  std::string why = "cuDNN has no algorithm for it";
  try {
    if (plan->measure(pass)) return plan;
  } catch (const Error& error) {
    if (lockring::cuda::is_recording()) throw;  // where nothing can be measured; nothing is known of cuDNN then
    why = error.what();
  }
  if (dtype == DType::bf16) {
    auto in_float32 = measured_plan(pass, shape, DType::f32);
    if (!in_float32->direct) say_in_float32(shape, why);
    return in_float32;
  }
  say_direct(shape, why);
  plan->direct = true;
  return plan;
}

}  // namespace

namespace {

class Plans {
 public:
  const ConvolutionPlan* find(const Key& key) const {
    const std::lock_guard lock(mutex_);
    const auto found = plans_.find(key);
    return found == plans_.end() ? nullptr : found->second.get();
  }
  const ConvolutionPlan& keep(const Key& key, std::unique_ptr<ConvolutionPlan> plan) {
    const std::lock_guard lock(mutex_);
    return *plans_.emplace(key, std::move(plan)).first->second;
  }
  // Threads wait for one measurement on their GPU rather than disturb it with theirs.
  std::mutex& measuring() { return measuring_[static_cast<std::size_t>(lockring::cuda::current_gpu())]; }

 private:
  mutable std::mutex mutex_;
  std::map<Key, std::unique_ptr<ConvolutionPlan>> plans_;
  std::array<std::mutex, lockring::cuda::kMostGpus> measuring_;
};

}  // namespace

const ConvolutionPlan& convolution_plan(ConvolutionPass pass, const ConvShape& shape, DType dtype) {
  static auto* plans = new Plans;  // never destroyed: plans outlive the threads that use them
  const Key key = key_of(pass, shape, dtype);
  if (const ConvolutionPlan* known = plans->find(key)) return *known;
  const std::lock_guard one_at_a_time(plans->measuring());
  if (const ConvolutionPlan* known = plans->find(key)) return *known;
  return plans->keep(key, measured_plan(pass, shape, dtype));
}

}  // namespace lockring::kernels::cuda
