#pragma once

#include "ops/kernel.h"

#include <cstdint>

namespace lockring {

// Writes the softmax and the summed loss. Returns the first row whose label is out of range, having written nothing, or
// -1.
using CrossEntropyFn = std::int64_t(const float* logits, const std::int32_t* labels, std::int64_t rows,
                                    std::int64_t classes, float label_smoothing, float* probabilities, float* loss);
// dlogits = dloss[0] (probabilities - target).
using CrossEntropyGradientFn = void(const float* probabilities, const std::int32_t* labels, std::int64_t rows,
                                    std::int64_t classes, float label_smoothing, const float* dloss, float* dlogits);

LOCKRING_DECLARE_SIMD_KERNEL(CrossEntropyFn, cross_entropy)
LOCKRING_DECLARE_SIMD_KERNEL(CrossEntropyGradientFn, cross_entropy_gradient)

}  // namespace lockring
