// The few kernels that tensors themselves need.
#pragma once

#include <cstdint>

namespace lockring::cuda {

void fill(float* block, std::int64_t count, float value);
void add(float* sum, const float* term, std::int64_t count);

}  // namespace lockring::cuda
