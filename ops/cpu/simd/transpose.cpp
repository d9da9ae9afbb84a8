#include "ops/cpu/simd/simd.h"

namespace lockring::kernels::cpu::LOCKRING_ISA {
namespace {

using Vector = float __attribute__((vector_size(32), aligned(4), may_alias));
using Mask = int __attribute__((vector_size(32)));

// Eight rows of eight: pairs, then quadruples, then halves change places.
LOCKRING_INLINE void transpose_8x8(const float* from, std::int64_t from_stride, float* to, std::int64_t to_stride) {
  Vector r[8];
  for (int i = 0; i < 8; ++i) r[i] = *reinterpret_cast<const Vector*>(from + i * from_stride);
  Vector t[8];
  for (int i = 0; i < 8; i += 2) {
    t[i] = __builtin_shuffle(r[i], r[i + 1], Mask{0, 8, 1, 9, 4, 12, 5, 13});
    t[i + 1] = __builtin_shuffle(r[i], r[i + 1], Mask{2, 10, 3, 11, 6, 14, 7, 15});
  }
  for (int i = 0; i < 8; i += 4) {
    r[i] = __builtin_shuffle(t[i], t[i + 2], Mask{0, 1, 8, 9, 4, 5, 12, 13});
    r[i + 1] = __builtin_shuffle(t[i], t[i + 2], Mask{2, 3, 10, 11, 6, 7, 14, 15});
    r[i + 2] = __builtin_shuffle(t[i + 1], t[i + 3], Mask{0, 1, 8, 9, 4, 5, 12, 13});
    r[i + 3] = __builtin_shuffle(t[i + 1], t[i + 3], Mask{2, 3, 10, 11, 6, 7, 14, 15});
  }
  for (int i = 0; i < 4; ++i) {
    *reinterpret_cast<Vector*>(to + i * to_stride) = __builtin_shuffle(r[i], r[i + 4], Mask{0, 1, 2, 3, 8, 9, 10, 11});
    *reinterpret_cast<Vector*>(to + (i + 4) * to_stride) =
        __builtin_shuffle(r[i], r[i + 4], Mask{4, 5, 6, 7, 12, 13, 14, 15});
  }
}

}  // namespace

void transpose(const float* from, std::int64_t rows, std::int64_t columns, float* to) {
  constexpr std::int64_t kBlock = 8;
  const std::int64_t whole_rows = rows / kBlock * kBlock;
  const std::int64_t whole_columns = columns / kBlock * kBlock;
  for (std::int64_t column = 0; column < whole_columns; column += kBlock)
    for (std::int64_t row = 0; row < whole_rows; row += kBlock)
      transpose_8x8(from + row * columns + column, columns, to + column * rows + row, rows);
  for (std::int64_t column = 0; column < columns; ++column)
    for (std::int64_t row = column < whole_columns ? whole_rows : 0; row < rows; ++row)
      to[column * rows + row] = from[row * columns + column];
}

}  // namespace lockring::kernels::cpu::LOCKRING_ISA
