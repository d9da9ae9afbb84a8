// One register of floats, for loops that must keep their sums in registers: 16 lanes with AVX-512, else 8.
// Lanes are channels, never parts of one sum, so the width does not show in the results.
#pragma once

#include "ops/cpu/simd/simd.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace lockring::kernels::cpu::LOCKRING_ISA {

#if defined(__AVX512F__)
constexpr std::int64_t kLanes = 16;
#else
constexpr std::int64_t kLanes = 8;
#endif

using Vector = float __attribute__((vector_size(4 * kLanes), may_alias));
using UnalignedVector = float __attribute__((vector_size(4 * kLanes), aligned(4), may_alias));
using Bytes = std::uint8_t __attribute__((vector_size(kLanes), aligned(1), may_alias));
using Integers = std::int32_t __attribute__((vector_size(4 * kLanes), may_alias));

LOCKRING_INLINE Vector load(const float* from) { return *reinterpret_cast<const UnalignedVector*>(from); }
LOCKRING_INLINE void store(float* to, Vector v) { *reinterpret_cast<UnalignedVector*>(to) = v; }

// The first `lanes` lanes, or all if there are more: for rows that end within a register. The others read as 0 and are
// not written.
LOCKRING_INLINE Vector load(const float* from, std::int64_t lanes) {
#if defined(__AVX512F__)
  return _mm512_maskz_loadu_ps(static_cast<__mmask16>(lanes < kLanes ? (1 << lanes) - 1 : -1), from);
#else
  if (lanes >= kLanes) return load(from);
  Vector v = {};
  for (std::int64_t lane = 0; lane < lanes; ++lane) v[lane] = from[lane];
  return v;
#endif
}
LOCKRING_INLINE void store(float* to, Vector v, std::int64_t lanes) {
#if defined(__AVX512F__)
  _mm512_mask_storeu_ps(to, static_cast<__mmask16>(lanes < kLanes ? (1 << lanes) - 1 : -1), v);
#else
  if (lanes >= kLanes) return store(to, v);
  for (std::int64_t lane = 0; lane < lanes; ++lane) to[lane] = v[lane];
#endif
}

LOCKRING_INLINE Vector broadcast(float value) { return value - Vector{}; }

// a * b + c in one rounding.
LOCKRING_INLINE Vector fma(Vector a, Vector b, Vector c) {
#if defined(__AVX512F__)
  return _mm512_fmadd_ps(a, b, c);
#elif defined(__FMA__)
  return _mm256_fmadd_ps(a, b, c);
#else
  for (std::int64_t lane = 0; lane < kLanes; ++lane) c[lane] = fma(a[lane], b[lane], c[lane]);
  return c;
#endif
}

// Bytes as integers, and back.
LOCKRING_INLINE Integers load_bytes(const std::uint8_t* from) {
  return __builtin_convertvector(*reinterpret_cast<const Bytes*>(from), Integers);
}
LOCKRING_INLINE void store_bytes(std::uint8_t* to, Integers v) {
  *reinterpret_cast<Bytes*>(to) = __builtin_convertvector(v, Bytes);
}

}  // namespace lockring::kernels::cpu::LOCKRING_ISA
