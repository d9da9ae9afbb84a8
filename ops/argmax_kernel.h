#pragma once

#include "ops/kernel.h"

#include <cstdint>

namespace lockring {

using ArgmaxFn = void(const float* scores, std::int64_t rows, std::int64_t channels, std::int32_t* index);
// *correct = the number of rows whose argmax is their label.
using CountCorrectFn = void(const float* scores, const std::int32_t* labels, std::int64_t rows, std::int64_t channels,
                            std::int64_t* correct);

LOCKRING_DECLARE_KERNEL(ArgmaxFn, argmax)
LOCKRING_DECLARE_KERNEL(CountCorrectFn, count_correct)

}  // namespace lockring
