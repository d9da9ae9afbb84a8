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

// Writes the softmax and the summed loss. Returns the first row whose label is out of range, having written nothing, or
// -1.
using CrossEntropyFn = std::int64_t(const float* logits, const CrossEntropyTarget& target, std::int64_t rows,
                                    std::int64_t classes, float* probabilities, float* loss);
// dlogits = dloss[0] (probabilities - target).
using CrossEntropyGradientFn = void(const float* probabilities, const CrossEntropyTarget& target, std::int64_t rows,
                                    std::int64_t classes, const float* dloss, float* dlogits);

LOCKRING_DECLARE_SIMD_KERNEL(CrossEntropyFn, cross_entropy)
LOCKRING_DECLARE_SIMD_KERNEL(CrossEntropyGradientFn, cross_entropy_gradient)

}  // namespace lockring
