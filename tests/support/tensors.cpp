#include "tests/support/tensors.h"

#include "core/rng.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>

namespace lockring {

Tensor random_tensor(const Shape& shape, std::uint64_t seed, float low, float high) {
  Rng rng(seed, RngStream::test);
  Tensor tensor = Tensor::empty(shape);
  for (float& value : tensor.values()) value = rng.uniform(low, high);
  return tensor;
}

Tensor on_cpu(const Tensor& tensor) { return tensor.to(Device{}); }

Tensor sum_of(const Tensor& a, const Tensor& b) {
  Tensor sum = Tensor::empty(a.shape());
  std::ranges::transform(on_cpu(a).values(), on_cpu(b).values(), sum.data(), std::plus<float>());
  return sum;
}

void expect_near(const Tensor& actual, const Tensor& expected, double tolerance, std::string_view what) {
  ASSERT_TRUE(actual.defined() && expected.defined()) << what;
  ASSERT_EQ(to_string(actual.shape()), to_string(expected.shape())) << what;
  const Tensor found = on_cpu(actual);
  const Tensor wanted = on_cpu(expected);
  for (std::int64_t i = 0; i < found.elements(); ++i) {
    const float value = wanted.data()[i];
    // An infinite value would make its own tolerance.
    if (!std::isfinite(value)) {
      ASSERT_EQ(found.data()[i], value) << what << " element " << i;
    } else {
      ASSERT_NEAR(found.data()[i], value, tolerance * std::max(1.0F, std::abs(value))) << what << " element " << i;
    }
  }
}

void expect_values(const Tensor& actual, std::initializer_list<float> expected, double tolerance) {
  ASSERT_EQ(actual.elements(), static_cast<std::int64_t>(expected.size()));
  expect_near(actual, Tensor::from(expected, actual.shape()), tolerance);
}

void expect_same_bits(const Tensor& actual, const Tensor& expected, std::string_view what) {
  ASSERT_EQ(actual.dtype(), expected.dtype()) << what;
  ASSERT_EQ(to_string(actual.shape()), to_string(expected.shape())) << what;
  const Tensor found = on_cpu(actual);
  const Tensor wanted = on_cpu(expected);
  const auto* a = static_cast<const char*>(found.raw());
  const auto* b = static_cast<const char*>(wanted.raw());
  const std::int64_t size = size_of(actual.dtype());
  for (std::int64_t i = 0; i < actual.elements(); ++i)
    ASSERT_EQ(std::memcmp(a + i * size, b + i * size, size), 0) << what << " element " << i;
}

}  // namespace lockring
