// Comparison of results that the generated products make bit for bit. Where Eigen stands in for them (sanitizer builds,
// other processors), a result may depend on how many rows are computed at once, and only nearly agrees.
#pragma once

#include "ops/cpu/brgemm.h"
#include "tests/support/tensors.h"

#include <string_view>

namespace lockring {

inline void expect_same_products(const Tensor& actual, const Tensor& expected, std::string_view what = "") {
  if (std::string_view(kernels::cpu::brgemm_backend()) == "Eigen") {
    expect_near(actual, expected, 1e-5, what);
  } else {
    expect_same_bits(actual, expected, what);
  }
}

}  // namespace lockring
