#include "ops/cross_entropy.h"

#include "core/autograd.h"
#include "ops/cross_entropy_kernel.h"

namespace lockring::ops {
namespace {

constexpr Kernel<CrossEntropyFn> kForward{"cross_entropy", LOCKRING_SIMD_KERNELS(cross_entropy),
                                          LOCKRING_CUDA_KERNEL(kernels::cuda::cross_entropy)};
constexpr Kernel<CrossEntropyGradientFn> kGradient{"cross_entropy", LOCKRING_SIMD_KERNELS(cross_entropy_gradient),
                                                   LOCKRING_CUDA_KERNEL(kernels::cuda::cross_entropy_gradient)};

void check_labels(const char* what, const Tensor& labels, const Tensor& logits) {
  check(labels.dtype() == DType::i32 && labels.shape() == Shape{logits.size(0)},
        "cross_entropy: {} {} {} do not fit logits {}", what, name_of(labels.dtype()), labels.shape(), logits.shape());
}

}  // namespace

Tensor cross_entropy(const Tensor& logits, const Tensor& labels, float label_smoothing, const MixedLabels& mixed) {
  check(logits.rank() == 2 && logits.size(1) > 0, "cross_entropy: logits are [n, classes], not {}", logits.shape());
  check_labels("labels", labels, logits);
  check(label_smoothing >= 0 && label_smoothing < 1, "cross_entropy: label smoothing {} is not in [0, 1)",
        label_smoothing);
  const std::int64_t rows = logits.size(0);
  const std::int64_t classes = logits.size(1);
  CrossEntropyTarget target{.labels = labels.data<std::int32_t>(), .label_smoothing = label_smoothing};
  if (mixed.partners.defined()) {
    check_labels("partners' labels", mixed.partners, logits);
    check(mixed.weights.shape() == labels.shape(), "cross_entropy: weights {} do not fit labels {}",
          mixed.weights.shape(), labels.shape());
    target.partners = mixed.partners.data<std::int32_t>();
    target.weights = mixed.weights.data();
  }
  Tensor probabilities = Tensor::empty(logits.shape(), DType::f32, logits.device());
  Tensor loss = Tensor::empty({1}, DType::f32, logits.device());
  Tensor bad_row = Tensor::empty({1}, DType::i64, logits.device());
  kForward.on(logits.device())(logits.data(), target, rows, classes, probabilities.data(), loss.data(),
                               bad_row.data<std::int64_t>());
  // A GPU's answer would have to be waited for; there the loss tells.
  if (logits.device().kind == DeviceKind::cpu)
    check(bad_row.item<std::int64_t>() < 0, ErrorCode::data, "cross_entropy: the label of row {} is not in [0, {})",
          bad_row.item<std::int64_t>(), classes);

  if (needs_gradient(logits)) {
    // The closure keeps the tensors that `target` points into.
    record(loss, {&logits},
           [rows, classes, target, probabilities, labels = labels.detach(), partners = mixed.partners,
            weights = mixed.weights](const Tensor& dloss, GradTargets to) {
             Tensor dlogits = Tensor::empty(probabilities.shape(), DType::f32, dloss.device());
             kGradient.on(dloss.device())(probabilities.data(), target, rows, classes, dloss.data(), dlogits.data());
             to[0].add(std::move(dlogits));
           });
  }
  return loss;
}

}  // namespace lockring::ops
