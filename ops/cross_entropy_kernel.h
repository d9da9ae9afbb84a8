#pragma once

#include "ops/kernel.h"

#include <cstdint>

namespace lockring {

// What a row should answer. `partners` and `weights` are null unless labels are mixed.
struct CrossEntropyTarget {
  const std::int32_t* labels = nullptr;
  const std::int32_t* partners = nullptr;
  const float* weights = nullptr;
  float label_smoothing = 0;
};

// Writes the softmax, the summed loss, and to `bad_row` -1. If a label is out of range, `bad_row` is its row, the first
// such, and the loss NaN.
using CrossEntropyFn = void(const float* logits, const CrossEntropyTarget& target, std::int64_t rows,
                            std::int64_t classes, float* probabilities, float* loss, std::int64_t* bad_row);
// dlogits = dloss[0] (probabilities - target).
using CrossEntropyGradientFn = void(const float* probabilities, const CrossEntropyTarget& target, std::int64_t rows,
                                    std::int64_t classes, const float* dloss, float* dlogits);

LOCKRING_DECLARE_SIMD_KERNEL(CrossEntropyFn, cross_entropy)
LOCKRING_DECLARE_SIMD_KERNEL(CrossEntropyGradientFn, cross_entropy_gradient)

}  // namespace lockring
