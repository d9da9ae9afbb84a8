// The few kernels that tensors themselves need.
#pragma once

#include "core/reals.h"

#include <cstdint>

namespace lockring::cuda {

void fill(float* block, std::int64_t count, float value);
void add(Reals sum, ConstReals term, std::int64_t count);

}  // namespace lockring::cuda
