#include "ops/argmax_kernel.h"

#include <cmath>

namespace lockring::kernels::cpu {
namespace {

std::int32_t row_argmax(const float* row, std::int64_t channels) {
  std::int64_t best = 0;
  bool any_nan = false;
  for (std::int64_t c = 0; c < channels; ++c) {
    any_nan |= std::isnan(row[c]);
    if (row[c] > row[best]) best = c;
  }
  return any_nan ? -1 : static_cast<std::int32_t>(best);
}

}  // namespace

void argmax(const float* scores, std::int64_t rows, std::int64_t channels, std::int32_t* index) {
  for (std::int64_t row = 0; row < rows; ++row) index[row] = row_argmax(scores + row * channels, channels);
}

void count_correct(const float* scores, const std::int32_t* labels, std::int64_t rows, std::int64_t channels,
                   std::int64_t* correct) {
  *correct = 0;
  for (std::int64_t row = 0; row < rows; ++row)
    if (row_argmax(scores + row * channels, channels) == labels[row]) ++*correct;
}

}  // namespace lockring::kernels::cpu
