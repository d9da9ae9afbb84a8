// For the files of this folder only, which the build compiles once for each instruction set.
//
// A file puts its functions into `namespace lockring::kernels::cpu::LOCKRING_ISA` and keeps to loops over plain
// pointers: no templates or inline functions from elsewhere that might be emitted as shared copies, since the linker
// could then hand the AVX-512 copy to everyone. Loops run across channels or elements and never sum across lanes, so
// both builds give the same bits; where a*b+c is meant to be one rounding, use fma() below.
#pragma once

#include <cstdint>

#ifndef LOCKRING_ISA
#error "compiled through lockring_op, which sets LOCKRING_ISA"
#endif

namespace lockring::kernels::cpu::LOCKRING_ISA {

#define LOCKRING_INLINE static inline __attribute__((always_inline))

LOCKRING_INLINE float fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
LOCKRING_INLINE float max(float a, float b) { return a > b ? a : b; }

}  // namespace lockring::kernels::cpu::LOCKRING_ISA
