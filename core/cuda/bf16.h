// bfloat16 in kernels: kept in memory, computed with as float32. The same numbers as core/bf16.h.
#pragma once

#include "core/cuda/host_device.h"
#include "core/reals.h"

#include <cstdint>
#include <cstring>

namespace lockring::cuda {

struct Bf16 {
  std::uint16_t bits;
};

LOCKRING_HOST_DEVICE inline float to_float(float value) { return value; }
LOCKRING_HOST_DEVICE inline float to_float(Bf16 value) {
  const std::uint32_t bits = static_cast<std::uint32_t>(value.bits) << 16;
  float result;
  memcpy(&result, &bits, sizeof(result));
  return result;
}

LOCKRING_HOST_DEVICE inline void store(float* to, float value) { *to = value; }
// To the nearest, ties to even. What is not a number stays that.
LOCKRING_HOST_DEVICE inline void store(Bf16* to, float value) {
  std::uint32_t bits;
  memcpy(&bits, &value, sizeof(bits));
  bits = value == value ? bits + 0x7FFFU + (bits >> 16 & 1U) : bits | 0x400000U;
  to->bits = static_cast<std::uint16_t>(bits >> 16);
}

// Calls f with a value of the type that the elements have, float or Bf16.
template <class F>
void with_type(DType dtype, const F& f) {
  if (dtype == DType::bf16) return f(Bf16{});
  f(float{});
}

template <class T>
const T* elements(ConstReals reals) {
  return static_cast<const T*>(reals.data);
}
template <class T>
T* elements(Reals reals) {
  return static_cast<T*>(reals.data);
}

}  // namespace lockring::cuda
