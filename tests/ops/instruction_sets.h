// Runs a kernel of ops/cpu/simd as it was built for either instruction set and expects the same bits.
//
//   expect_same_bits_on_both(LOCKRING_SIMD_KERNELS(softmax), [&](auto* softmax) {
//     Tensor y = Tensor::empty(x.shape());
//     softmax(x.data(), 3, 5, y.data());
//     return y;
//   });
#pragma once

#include "core/cpu.h"
#include "tests/support/tensors.h"

#include <gtest/gtest.h>

namespace lockring {

// Skips the test on a machine without AVX-512.
template <class Function, class Run>
void expect_same_bits_on_both(Function* baseline, Function* avx512, Run run) {
  if (active_isa() != Isa::avx512) GTEST_SKIP() << "one instruction set only";
  expect_same_bits(run(avx512), run(baseline));
}

}  // namespace lockring
