#include "ops/cpu/simd/softmax_rows.h"

namespace lockring::kernels::cpu::LOCKRING_ISA {

// The exponentials run over all rows at once, since a row may be shorter than a register.
void softmax(const float* x, std::int64_t rows, std::int64_t channels, float* y) {
  for (std::int64_t row = 0; row < rows; ++row) shift_row(x + row * channels, channels, y + row * channels);
  for (std::int64_t i = 0; i < rows * channels; ++i) y[i] = exp(y[i]);
  for (std::int64_t row = 0; row < rows; ++row) normalise_row(y + row * channels, channels);
}

void softmax_gradient(const float* y, const float* dy, std::int64_t rows, std::int64_t channels, float* dx) {
  for (std::int64_t row = 0; row < rows; ++row, y += channels, dy += channels, dx += channels) {
    double dot = 0;
    for (std::int64_t c = 0; c < channels; ++c) dot += double{y[c]} * dy[c];
    const auto mean = static_cast<float>(dot);
    for (std::int64_t c = 0; c < channels; ++c) dx[c] = y[c] * (dy[c] - mean);
  }
}

}  // namespace lockring::kernels::cpu::LOCKRING_ISA
