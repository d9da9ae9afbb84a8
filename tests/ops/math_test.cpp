// The functions of the vectorised loops, element by element; that both builds agree is for the tests of their users.
#define LOCKRING_ISA baseline
#include "ops/cpu/simd/math.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numbers>

namespace lockring::kernels::cpu::baseline {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// The distance in units of the last place of the exact value, of the smallest denormal at least.
double error_in_ulp(float actual, double exact) {
  const double ulp = std::max(std::ldexp(1.0, std::ilogb(exact) - 23), 0x1p-149);
  return std::abs(actual - exact) / ulp;
}

// The largest error of `f` over the floats from low to high (of one sign), a prime number of steps apart.
template <class F, class Exact>
double worst_error(F f, Exact exact, float low, float high) {
  const auto from = std::bit_cast<std::uint32_t>(low);
  const auto to = std::bit_cast<std::uint32_t>(high);
  double worst = 0;
  for (std::uint32_t bits = std::min(from, to); bits <= std::max(from, to); bits += 1009) {
    const auto x = std::bit_cast<float>(bits);
    worst = std::max(worst, error_in_ulp(f(x), exact(double{x})));
  }
  return worst;
}

TEST(SimdMath, ExpIsWithinOneUlp) {
  const auto f = [](float x) { return exp(x); };
  const auto exact = [](double x) { return std::exp(x); };
  EXPECT_LT(worst_error(f, exact, 0.0F, 88.7F), 1);
  EXPECT_LT(worst_error(f, exact, -0.0F, -104.0F), 1);
}

TEST(SimdMath, ExpOverflowsUnderflowsAndKeepsNan) {
  EXPECT_EQ(exp(0.0F), 1);
  EXPECT_LT(exp(88.72F), kInfinity);
  for (const float x : {88.73F, 1e5F, kInfinity}) EXPECT_EQ(exp(x), kInfinity) << x;
  EXPECT_GT(exp(-103.0F), 0);
  for (const float x : {-104.0F, -1e5F, -kInfinity}) EXPECT_EQ(exp(x), 0) << x;
  EXPECT_TRUE(std::isnan(exp(std::numeric_limits<float>::quiet_NaN())));
  EXPECT_TRUE(std::isnan(exp(-std::numeric_limits<float>::quiet_NaN())));
}

TEST(SimdMath, NormalDensityIsTheBell) {
  for (const float x : {-3.0F, -0.5F, 0.0F, 1.0F, 5.0F})
    EXPECT_NEAR(normal(x).density, std::exp(-x * x / 2) / std::sqrt(2 * std::numbers::pi), 1e-7) << x;
}

TEST(SimdMath, NormalDistributionHoldsInBothTails) {
  const auto f = [](float x) { return normal(x).distribution; };
  const auto exact = [](double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); };
  EXPECT_LT(worst_error(f, exact, 0.0F, 20.0F), 4);
  EXPECT_LT(worst_error(f, exact, -0.0F, -13.0F), 8);
  EXPECT_EQ(f(-kInfinity), 0);
  EXPECT_EQ(f(kInfinity), 1);
  EXPECT_TRUE(std::isnan(f(std::numeric_limits<float>::quiet_NaN())));
}

}  // namespace
}  // namespace lockring::kernels::cpu::baseline
