#include "ops/cpu/simd/softmax_rows.h"
#include "ops/cross_entropy_kernel.h"

namespace lockring::kernels::cpu::LOCKRING_ISA {

namespace {

bool in_range(std::int32_t label, std::int64_t classes) { return label >= 0 && label < classes; }

std::int64_t first_bad_row(const CrossEntropyTarget& target, std::int64_t rows, std::int64_t classes) {
  for (std::int64_t row = 0; row < rows; ++row)
    if (!in_range(target.labels[row], classes) ||
        (target.partners != nullptr && !in_range(target.partners[row], classes)))
      return row;
  return -1;
}

}  // namespace

// With shifted logits z, the loss of a row is log(sum(exp(z))) - sum(target * z).
void cross_entropy(const float* logits, const CrossEntropyTarget& target, std::int64_t rows, std::int64_t classes,
                   float* probabilities, float* loss, std::int64_t* bad_row) {
  const double off = target.label_smoothing / static_cast<double>(classes);
  const double on = 1 - double{target.label_smoothing};
  *bad_row = first_bad_row(target, rows, classes);
  if (*bad_row >= 0) {
    *loss = __builtin_nanf("");
    return;
  }

  double total = 0;
  for (std::int64_t row = 0; row < rows; ++row) {
    float* z = probabilities + row * classes;
    shift_row(logits + row * classes, classes, z);
    if (target.partners == nullptr) {
      total -= on * z[target.labels[row]];
    } else {
      const double weight = target.weights[row];
      total -= on * (weight * z[target.labels[row]] + (1 - weight) * z[target.partners[row]]);
    }
    if (off == 0) continue;  // 0 * -infinity would be NaN
    double sum = 0;
    for (std::int64_t c = 0; c < classes; ++c) sum += z[c];
    total -= off * sum;
  }
  for (std::int64_t i = 0; i < rows * classes; ++i) probabilities[i] = exp(probabilities[i]);
  for (std::int64_t row = 0; row < rows; ++row)
    total += __builtin_log(normalise_row(probabilities + row * classes, classes));
  loss[0] = static_cast<float>(total);
}

void cross_entropy_gradient(const float* probabilities, const CrossEntropyTarget& target, std::int64_t rows,
                            std::int64_t classes, const float* dloss, float* dlogits) {
  const float off = target.label_smoothing / static_cast<float>(classes);
  const float on = 1 - target.label_smoothing;
  const float scale = dloss[0];
  for (std::int64_t i = 0; i < rows * classes; ++i) dlogits[i] = scale * (probabilities[i] - off);
  for (std::int64_t row = 0; row < rows; ++row) {
    const float weight = target.weights == nullptr ? 1 : target.weights[row];
    dlogits[row * classes + target.labels[row]] -= scale * on * weight;
    if (target.partners != nullptr) dlogits[row * classes + target.partners[row]] -= scale * on * (1 - weight);
  }
}

}  // namespace lockring::kernels::cpu::LOCKRING_ISA
