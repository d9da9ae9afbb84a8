// Elements of float32 or bfloat16, as an op hands them to its kernels: where they lie, and which of the two they are.
//
// A kernel that takes them computes in float32 whatever they are in memory. Those that know float32 alone, as all of
// the CPU do, take a pointer: a conversion that throws Error{device} on bfloat16.
#pragma once

#include "core/dtype.h"

#include <cstdint>

namespace lockring {

[[noreturn]] void fail_on_bf16();

// To be written, or both.
struct Reals {
  void* data = nullptr;
  DType dtype = DType::f32;

  Reals(float* values) : data(values) {}
  Reals(void* values, DType type) : data(values), dtype(type) {}
  operator float*() const {
    if (dtype != DType::f32) fail_on_bf16();
    return static_cast<float*>(data);
  }
  Reals from(std::int64_t first) const { return {static_cast<char*>(data) + first * size_of(dtype), dtype}; }
};

// To be read.
struct ConstReals {
  const void* data = nullptr;
  DType dtype = DType::f32;

  ConstReals(const float* values) : data(values) {}
  ConstReals(const Reals& values) : data(values.data), dtype(values.dtype) {}
  ConstReals(const void* values, DType type) : data(values), dtype(type) {}
  operator const float*() const {
    if (dtype != DType::f32) fail_on_bf16();
    return static_cast<const float*>(data);
  }
  // From element `first` on.
  ConstReals from(std::int64_t first) const { return {static_cast<const char*>(data) + first * size_of(dtype), dtype}; }
};

}  // namespace lockring
