#include "ops/cpu/simd/softmax_rows.h"

namespace lockring::kernels::cpu::LOCKRING_ISA {

// With shifted logits z, the loss of a row is log(sum(exp(z))) - sum(target * z).
std::int64_t cross_entropy(const float* logits, const std::int32_t* labels, std::int64_t rows, std::int64_t classes,
                           float label_smoothing, float* probabilities, float* loss) {
  const double off = label_smoothing / static_cast<double>(classes);
  const double on = 1 - double{label_smoothing};
  for (std::int64_t row = 0; row < rows; ++row)
    if (labels[row] < 0 || labels[row] >= classes) return row;

  double total = 0;
  for (std::int64_t row = 0; row < rows; ++row) {
    float* z = probabilities + row * classes;
    shift_row(logits + row * classes, classes, z);
    total -= on * z[labels[row]];
    if (off == 0) continue;  // 0 * -infinity would be NaN
    double sum = 0;
    for (std::int64_t c = 0; c < classes; ++c) sum += z[c];
    total -= off * sum;
  }
  for (std::int64_t i = 0; i < rows * classes; ++i) probabilities[i] = exp(probabilities[i]);
  for (std::int64_t row = 0; row < rows; ++row)
    total += __builtin_log(normalise_row(probabilities + row * classes, classes));
  loss[0] = static_cast<float>(total);
  return -1;
}

void cross_entropy_gradient(const float* probabilities, const std::int32_t* labels, std::int64_t rows,
                            std::int64_t classes, float label_smoothing, const float* dloss, float* dlogits) {
  const float off = label_smoothing / static_cast<float>(classes);
  const float on = 1 - label_smoothing;
  const float scale = dloss[0];
  for (std::int64_t i = 0; i < rows * classes; ++i) dlogits[i] = scale * (probabilities[i] - off);
  for (std::int64_t row = 0; row < rows; ++row) dlogits[row * classes + labels[row]] -= scale * on;
}

}  // namespace lockring::kernels::cpu::LOCKRING_ISA
