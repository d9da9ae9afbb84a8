#include "ops/cross_entropy.h"

#include "core/autograd.h"
#include "ops/cross_entropy_kernel.h"

namespace lockring::ops {
namespace {

constexpr Kernel<CrossEntropyFn> kForward{"cross_entropy", LOCKRING_SIMD_KERNELS(cross_entropy),
                                          LOCKRING_CUDA_KERNEL(kernels::cuda::cross_entropy)};
constexpr Kernel<CrossEntropyGradientFn> kGradient{"cross_entropy", LOCKRING_SIMD_KERNELS(cross_entropy_gradient),
                                                   LOCKRING_CUDA_KERNEL(kernels::cuda::cross_entropy_gradient)};

}  // namespace

Tensor cross_entropy(const Tensor& logits, const Tensor& labels, float label_smoothing) {
  check(logits.rank() == 2 && logits.size(1) > 0, "cross_entropy: logits are [n, classes], not {}", logits.shape());
  check(labels.dtype() == DType::i32 && labels.shape() == Shape{logits.size(0)},
        "cross_entropy: labels {} {} do not fit logits {}", name_of(labels.dtype()), labels.shape(), logits.shape());
  check(label_smoothing >= 0 && label_smoothing < 1, "cross_entropy: label smoothing {} is not in [0, 1)",
        label_smoothing);
  const std::int64_t rows = logits.size(0);
  const std::int64_t classes = logits.size(1);
  Tensor probabilities = Tensor::empty(logits.shape(), DType::f32, logits.device());
  Tensor loss = Tensor::empty({1}, DType::f32, logits.device());
  const std::int64_t bad_row = kForward.on(logits.device())(logits.data(), labels.data<std::int32_t>(), rows, classes,
                                                            label_smoothing, probabilities.data(), loss.data());
  check(bad_row < 0, ErrorCode::data, "cross_entropy: the label of row {} is not in [0, {})", bad_row, classes);

  if (needs_gradient(logits)) {
    record(
        loss, {&logits},
        [rows, classes, label_smoothing, probabilities, labels = labels.detach()](const Tensor& dloss, GradTargets to) {
          Tensor dlogits = Tensor::empty(probabilities.shape(), DType::f32, dloss.device());
          kGradient.on(dloss.device())(probabilities.data(), labels.data<std::int32_t>(), rows, classes,
                                       label_smoothing, dloss.data(), dlogits.data());
          to[0].add(std::move(dlogits));
        });
  }
  return loss;
}

}  // namespace lockring::ops
