// Tensors for tests, and comparisons of them that name the first element that differs.
#pragma once

#include "core/tensor.h"

#include <cstdint>
#include <initializer_list>
#include <string_view>

namespace lockring {

// Uniform random values, the same for the same seed.
Tensor random_tensor(const Shape& shape, std::uint64_t seed = 1, float low = -1, float high = 1);
// The same elements where tests can read them.
Tensor on_cpu(const Tensor& tensor);
// Element by element; on the CPU.
Tensor sum_of(const Tensor& a, const Tensor& b);

// Both sides may lie on any device. Fail the running test unless shapes agree and each element differs by at most
// tolerance * max(1, |expected|).
void expect_near(const Tensor& actual, const Tensor& expected, double tolerance = 1e-5, std::string_view what = "");
void expect_values(const Tensor& actual, std::initializer_list<float> expected, double tolerance = 1e-5);
// ... unless dtypes, shapes and bits agree.
void expect_same_bits(const Tensor& actual, const Tensor& expected, std::string_view what = "");

}  // namespace lockring
