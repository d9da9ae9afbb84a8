// The classification loss, one index a row.
#pragma once

#include "ops/cross_entropy_kernel.h"
#include "ops/cuda/softmax_functor.h"

#include <cmath>
#include <cstdint>

namespace lockring::kernels::cuda {

struct Labels {
  CrossEntropyTarget target;
  std::int64_t classes;
  LOCKRING_HOST_DEVICE bool in_range(std::int32_t label) const { return label >= 0 && label < classes; }
  LOCKRING_HOST_DEVICE bool good(std::int64_t row) const {
    return in_range(target.labels[row]) && (target.partners == nullptr || in_range(target.partners[row]));
  }
};

// Writes a row's softmax and its loss, NaN where a label is out of range. With shifted logits z, the loss of a row is
// log(sum(exp(z))) - sum(target * z).
struct CrossEntropyRow {
  Labels labels;
  const float* logits;
  float* probabilities;
  double* losses;
  LOCKRING_HOST_DEVICE void operator()(std::int64_t row) const {
    const std::int64_t classes = labels.classes;
    const CrossEntropyTarget& target = labels.target;
    const float* x = logits + row * classes;
    const float largest = largest_of(x, classes);
    double loss = log(softmax_row(x, classes, largest, probabilities + row * classes));
    if (!labels.good(row)) {
      losses[row] = NAN;
      return;
    }
    const double on = 1 - double{target.label_smoothing};
    const double off = target.label_smoothing / static_cast<double>(classes);
    if (target.partners == nullptr) {
      loss -= on * (x[target.labels[row]] - largest);
    } else {
      const double weight = target.weights[row];
      loss -= on * (weight * (x[target.labels[row]] - largest) + (1 - weight) * (x[target.partners[row]] - largest));
    }
    if (off != 0) {  // 0 * -infinity would be NaN
      double sum = 0;
      for (std::int64_t c = 0; c < classes; ++c) sum += x[c] - largest;
      loss -= off * sum;
    }
    losses[row] = loss;
  }
};

struct StoreLoss {
  float* loss;
  LOCKRING_HOST_DEVICE void operator()(double sum) const { *loss = static_cast<float>(sum); }
};

// Index 0 alone; looks through the rows only if something is wrong.
struct FirstBadRow {
  Labels labels;
  std::int64_t rows;
  const float* loss;
  std::int64_t* bad_row;
  LOCKRING_HOST_DEVICE void operator()(std::int64_t) const {
    std::int64_t row = *loss == *loss ? rows : 0;
    while (row < rows && labels.good(row)) ++row;
    *bad_row = row < rows ? row : -1;
  }
};

// dlogits = dloss (probabilities - target).
struct CrossEntropyGradientRow {
  Labels labels;
  const float *probabilities, *dloss;
  float* dlogits;
  LOCKRING_HOST_DEVICE void operator()(std::int64_t row) const {
    const CrossEntropyTarget& target = labels.target;
    const std::int64_t first = row * labels.classes;
    const float off = target.label_smoothing / static_cast<float>(labels.classes);
    const float on = *dloss * (1 - target.label_smoothing);
    for (std::int64_t c = first; c < first + labels.classes; ++c) dlogits[c] = *dloss * (probabilities[c] - off);
    if (!labels.good(row)) return;  // the loss is NaN already
    const float weight = target.weights == nullptr ? 1 : target.weights[row];
    dlogits[first + target.labels[row]] -= on * weight;
    if (target.partners != nullptr) dlogits[first + target.partners[row]] -= on * (1 - weight);
  }
};

}  // namespace lockring::kernels::cuda
