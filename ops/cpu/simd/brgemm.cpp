#include "ops/cpu/product_kernel.h"
#include "ops/cpu/simd/vector.h"

namespace lockring::kernels::cpu::LOCKRING_ISA {
namespace {

// What is summed in registers at once: this many rows, and two registers of columns.
constexpr int kRows = 4;

// Elements of left from one row to the next, and from one inner index to the next.
struct Steps {
  std::int64_t row;
  std::int64_t inner;
};

template <int kHeight>
LOCKRING_INLINE void add_block(const BrgemmShape& s, Steps left_step, const float* left, const float* right, float* out,
                               std::int64_t cols) {
  const std::int64_t more = cols - kLanes;  // columns of the second register
  Vector sums[kHeight][2];
  for (int row = 0; row < kHeight; ++row) {
    sums[row][0] = load(out + row * s.out_stride, cols);
    sums[row][1] = more > 0 ? load(out + row * s.out_stride + kLanes, more) : Vector{};
  }
  for (std::int64_t k = 0; k < s.inner; ++k) {
    const float* from = right + k * s.right_stride;
    const Vector first = load(from, cols);
    const Vector second = more > 0 ? load(from + kLanes, more) : Vector{};
    for (int row = 0; row < kHeight; ++row) {
      const Vector factor = broadcast(left[row * left_step.row + k * left_step.inner]);
      sums[row][0] = fma(factor, first, sums[row][0]);
      sums[row][1] = fma(factor, second, sums[row][1]);
    }
  }
  for (int row = 0; row < kHeight; ++row) {
    store(out + row * s.out_stride, sums[row][0], cols);
    if (more > 0) store(out + row * s.out_stride + kLanes, sums[row][1], more);
  }
}

}  // namespace

void add_product(const BrgemmShape& s, const float* left, const float* right, float* out) {
  const Steps step = {s.left_transposed ? 1 : s.left_stride, s.left_transposed ? s.left_stride : 1};
  for (std::int64_t col = 0; col < s.cols; col += 2 * kLanes) {
    std::int64_t row = 0;
    for (; row + kRows <= s.rows; row += kRows)
      add_block<kRows>(s, step, left + row * step.row, right + col, out + row * s.out_stride + col, s.cols - col);
    for (; row < s.rows; ++row)
      add_block<1>(s, step, left + row * step.row, right + col, out + row * s.out_stride + col, s.cols - col);
  }
}

}  // namespace lockring::kernels::cpu::LOCKRING_ISA
