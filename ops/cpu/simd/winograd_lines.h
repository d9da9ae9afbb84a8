// Winograd's transforms of one line of a tile (ops/cpu/winograd_kernel.h): the matrices B^T, G, A^T, A and G^T, each as
// a function of a line of registers. Transforming the columns of a tile and then its rows makes the whole.
#pragma once

#include "ops/cpu/simd/vector.h"

namespace lockring::kernels::cpu::LOCKRING_ISA {

// F(4, 3), by way of 0, b, a, -b, -a and infinity. The usual 1 and 2 lose four times as much to rounding as a direct
// sum does; of pairs that are exact in a few bits, these lose least, less than twice as much. Places of even and of odd
// number share no work, so that half of a tile can be transformed at a time.
struct Winograd {
  static constexpr float kA = 0.625F;
  static constexpr float kB = 1.5F;
  static constexpr float kAA = kA * kA;
  static constexpr float kBB = kB * kB;
  static constexpr float kAtZero = 1 / (kAA * kBB);
  static constexpr float kAtA = 1 / (2 * kAA * (kAA - kBB));
  static constexpr float kAtB = 1 / (2 * kBB * (kBB - kAA));

  LOCKRING_INLINE void input(const Vector* d, Vector* v) {
    const Vector even_a = fma(d[2], broadcast(-kBB), d[4]);
    const Vector even_b = fma(d[2], broadcast(-kAA), d[4]);
    const Vector odd_a = fma(d[1], broadcast(-kBB), d[3]);
    const Vector odd_b = fma(d[1], broadcast(-kAA), d[3]);
    v[0] = fma(d[0], broadcast(kAA * kBB), fma(d[2], broadcast(-kAA - kBB), d[4]));
    v[1] = fma(odd_b, broadcast(kB), even_b);
    v[2] = fma(odd_a, broadcast(kA), even_a);
    v[3] = fma(odd_b, broadcast(-kB), even_b);
    v[4] = fma(odd_a, broadcast(-kA), even_a);
    v[5] = fma(d[1], broadcast(kAA * kBB), fma(d[3], broadcast(-kAA - kBB), d[5]));
  }
  LOCKRING_INLINE void weights(const Vector* g, Vector* u) {
    const Vector even_a = fma(g[2], broadcast(kAA), g[0]);
    const Vector even_b = fma(g[2], broadcast(kBB), g[0]);
    u[0] = kAtZero * g[0];
    u[1] = kAtB * fma(g[1], broadcast(kB), even_b);
    u[2] = kAtA * fma(g[1], broadcast(kA), even_a);
    u[3] = kAtB * fma(g[1], broadcast(-kB), even_b);
    u[4] = kAtA * fma(g[1], broadcast(-kA), even_a);
    u[5] = g[2];
  }
  LOCKRING_INLINE void output(const Vector* m, Vector* y) {
    const Vector even_a = m[2] + m[4];
    const Vector even_b = m[1] + m[3];
    const Vector odd_a = m[2] - m[4];
    const Vector odd_b = m[1] - m[3];
    y[0] = m[0] + (even_a + even_b);
    y[1] = fma(odd_b, broadcast(kB), kA * odd_a);
    y[2] = fma(even_b, broadcast(kBB), kAA * even_a);
    y[3] = fma(odd_b, broadcast(kBB * kB), fma(odd_a, broadcast(kAA * kA), m[5]));
  }
  LOCKRING_INLINE void result_gradient(const Vector* dy, Vector* z) {
    const Vector even_a = fma(dy[2], broadcast(kAA), dy[0]);
    const Vector even_b = fma(dy[2], broadcast(kBB), dy[0]);
    const Vector odd_a = fma(dy[3], broadcast(kAA), dy[1]);
    const Vector odd_b = fma(dy[3], broadcast(kBB), dy[1]);
    z[0] = dy[0];
    z[1] = fma(odd_b, broadcast(kB), even_b);
    z[2] = fma(odd_a, broadcast(kA), even_a);
    z[3] = fma(odd_b, broadcast(-kB), even_b);
    z[4] = fma(odd_a, broadcast(-kA), even_a);
    z[5] = dy[3];
  }
  LOCKRING_INLINE void weight_gradient(const Vector* du, Vector* dw) {
    const Vector even_a = kAtA * (du[2] + du[4]);
    const Vector even_b = kAtB * (du[1] + du[3]);
    const Vector odd_a = kAtA * (du[2] - du[4]);
    const Vector odd_b = kAtB * (du[1] - du[3]);
    dw[0] = fma(du[0], broadcast(kAtZero), even_a + even_b);
    dw[1] = fma(odd_b, broadcast(kB), kA * odd_a);
    dw[2] = fma(even_b, broadcast(kBB), fma(even_a, broadcast(kAA), du[5]));
  }
};

// The columns of a square, then its rows. `column(j, from)` reads a column, `store(i, j, value)` takes a result. Large
// squares are done by halves, since registers do not hold the whole; reading a column twice is cheaper.
template <int kFrom, int kTo, class Line, class Column, class Store>
LOCKRING_INLINE void transform_square(Line line, Column column, Store store) {
  constexpr int kParts = kFrom * kTo > 18 ? 2 : 1;
#pragma GCC unroll 2
  for (int part = 0; part < kParts; ++part) {
    Vector middle[kTo][kFrom];
#pragma GCC unroll 6
    for (int j = 0; j < kFrom; ++j) {
      Vector from[kFrom];
      Vector to[kTo];
      column(j, from);
      line(from, to);
#pragma GCC unroll 6
      for (int i = part; i < kTo; i += kParts) middle[i][j] = to[i];
    }
#pragma GCC unroll 6
    for (int i = part; i < kTo; i += kParts) {
      Vector to[kTo];
      line(middle[i], to);
#pragma GCC unroll 6
      for (int j = 0; j < kTo; ++j) store(i, j, to[j]);
    }
  }
}

}  // namespace lockring::kernels::cpu::LOCKRING_ISA
