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

#if defined(__AVX512F__)
LOCKRING_INLINE __mmask16 first_lanes(std::int64_t lanes) {
  return static_cast<__mmask16>(lanes < kLanes ? (1 << lanes) - 1 : -1);
}
#elif defined(__AVX2__)
LOCKRING_INLINE __m256i first_lanes(std::int64_t lanes) {
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(lanes)), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
#endif

// The first `lanes` lanes, or all if there are more: for rows that end within a register. The others read as 0 and are
// not written.
LOCKRING_INLINE Vector load(const float* from, std::int64_t lanes) {
#if defined(__AVX512F__)
  return _mm512_maskz_loadu_ps(first_lanes(lanes), from);
#elif defined(__AVX2__)
  return lanes >= kLanes ? load(from) : _mm256_maskload_ps(from, first_lanes(lanes));
#else
  if (lanes >= kLanes) return load(from);
  Vector v = {};
  for (std::int64_t lane = 0; lane < lanes; ++lane) v[lane] = from[lane];
  return v;
#endif
}
LOCKRING_INLINE void store(float* to, Vector v, std::int64_t lanes) {
#if defined(__AVX512F__)
  _mm512_mask_storeu_ps(to, first_lanes(lanes), v);
#elif defined(__AVX2__)
  if (lanes >= kLanes) return store(to, v);
  _mm256_maskstore_ps(to, first_lanes(lanes), v);
#else
  if (lanes >= kLanes) return store(to, v);
  for (std::int64_t lane = 0; lane < lanes; ++lane) to[lane] = v[lane];
#endif
}

// A whole register from memory that can be read, or zeros.
#if defined(__AVX512F__)
using Keep = __mmask16;
LOCKRING_INLINE Keep keep_if(bool keep) { return keep ? 0xFFFF : 0; }
LOCKRING_INLINE Vector load_kept(const float* from, Keep keep) { return _mm512_maskz_loadu_ps(keep, from); }
#else
using Keep = Integers;
LOCKRING_INLINE Keep keep_if(bool keep) { return Keep{} - (keep ? 1 : 0); }
LOCKRING_INLINE Vector load_kept(const float* from, Keep keep) {
  return reinterpret_cast<Vector>(reinterpret_cast<Integers>(load(from)) & keep);
}
#endif

LOCKRING_INLINE Vector broadcast(float value) { return value - Vector{}; }

// `value`, but NaN where any of the four is.
LOCKRING_INLINE Vector nan_with(Vector a, Vector b, Vector c, Vector d, Vector value) {
#if defined(__AVX512F__)
  const __mmask16 nan = _kor_mask16(_mm512_cmp_ps_mask(a, b, _CMP_UNORD_Q), _mm512_cmp_ps_mask(c, d, _CMP_UNORD_Q));
  const __m512i bits = _mm512_castps_si512(value);
  return _mm512_castsi512_ps(_mm512_mask_ternarylogic_epi32(bits, nan, bits, bits, 0xFF));  // all ones
#elif defined(__AVX2__)
  return _mm256_or_ps(value, _mm256_or_ps(_mm256_cmp_ps(a, b, _CMP_UNORD_Q), _mm256_cmp_ps(c, d, _CMP_UNORD_Q)));
#else
  const Integers nan = ((a != a) | (b != b)) | ((c != c) | (d != d));
  return reinterpret_cast<Vector>(reinterpret_cast<Integers>(value) | nan);
#endif
}

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

// Bytes as integers, and back; intrinsics, because GCC 12 would convert one by one.
LOCKRING_INLINE Integers load_bytes(const std::uint8_t* from) {
#if defined(__AVX512F__)
  const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
  return reinterpret_cast<Integers>(_mm512_maskz_cvtepu8_epi32(0xFFFF, bytes));
#elif defined(__AVX2__)
  const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(from));
  return reinterpret_cast<Integers>(_mm256_cvtepu8_epi32(bytes));
#else
  return __builtin_convertvector(*reinterpret_cast<const Bytes*>(from), Integers);
#endif
}
LOCKRING_INLINE void store_bytes(std::uint8_t* to, Integers v) {
#if defined(__AVX512F__)
  const __m128i bytes = _mm512_maskz_cvtepi32_epi8(0xFFFF, reinterpret_cast<__m512i>(v));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to), bytes);
#elif defined(__AVX2__)
  // The lowest byte of each integer: four within each half, then the halves meet.
  const __m256i bytes = _mm256_shuffle_epi8(reinterpret_cast<__m256i>(v), _mm256_set1_epi32(0x0C080400));
  _mm_storel_epi64(reinterpret_cast<__m128i*>(to),
                   _mm_unpacklo_epi32(_mm256_castsi256_si128(bytes), _mm256_extracti128_si256(bytes, 1)));
#else
  *reinterpret_cast<Bytes*>(to) = __builtin_convertvector(v, Bytes);
#endif
}
LOCKRING_INLINE Integers load_bytes(const std::uint8_t* from, std::int64_t lanes) {
#if defined(__AVX512F__)
  const __m128i bytes = _mm_maskz_loadu_epi8(first_lanes(lanes), from);
  return reinterpret_cast<Integers>(_mm512_maskz_cvtepu8_epi32(0xFFFF, bytes));
#else
  if (lanes >= kLanes) return load_bytes(from);
  Integers v = {};
  for (std::int64_t lane = 0; lane < lanes; ++lane) v[lane] = from[lane];
  return v;
#endif
}
LOCKRING_INLINE void store_bytes(std::uint8_t* to, Integers v, std::int64_t lanes) {
#if defined(__AVX512F__)
  _mm512_mask_cvtepi32_storeu_epi8(to, first_lanes(lanes), reinterpret_cast<__m512i>(v));
#else
  if (lanes >= kLanes) return store_bytes(to, v);
  for (std::int64_t lane = 0; lane < lanes; ++lane) to[lane] = static_cast<std::uint8_t>(v[lane]);
#endif
}

}  // namespace lockring::kernels::cpu::LOCKRING_ISA
