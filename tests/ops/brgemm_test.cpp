#include "ops/cpu/brgemm.h"

#include "core/rng.h"
#include "ops/cpu/gemm.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <vector>

namespace lockring::kernels::cpu {
namespace {

std::vector<float> random_values(std::int64_t count, std::uint64_t seed) {
  Rng rng(seed, RngStream::test);
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values) value = rng.uniform(-1, 1);
  return values;
}

// The order of sums that the header promises: pairs outermost, inner within, one rounding a step.
void expect_in_promised_order(const BrgemmShape& s, std::int64_t pairs) {
  const std::int64_t left_size = s.left_transposed ? s.inner * s.left_stride : s.rows * s.left_stride;
  const std::int64_t right_size = s.inner * s.right_stride;
  const std::vector<float> left = random_values(pairs * left_size, 1);
  const std::vector<float> right = random_values(pairs * right_size, 2);
  std::vector<float> out = random_values(s.rows * s.out_stride, 3);
  std::vector<float> expected = out;
  std::vector<const float*> lefts;
  std::vector<const float*> rights;
  for (std::int64_t i = 0; i < pairs; ++i) {
    lefts.push_back(left.data() + i * left_size);
    rights.push_back(right.data() + i * right_size);
  }
  for (std::int64_t row = 0; row < s.rows; ++row)
    for (std::int64_t col = 0; col < s.cols; ++col) {
      float sum = s.accumulate ? expected[row * s.out_stride + col] : 0;
      for (std::int64_t i = 0; i < pairs; ++i)
        for (std::int64_t k = 0; k < s.inner; ++k)
          sum = std::fma(lefts[i][s.left_transposed ? k * s.left_stride + row : row * s.left_stride + k],
                         rights[i][k * s.right_stride + col], sum);
      expected[row * s.out_stride + col] = sum;
    }
  const Brgemm product(s);
  product(lefts.data(), rights.data(), out.data(), pairs);
  for (std::size_t i = 0; i < out.size(); ++i)
    ASSERT_EQ(out[i], expected[i]) << "rows " << s.rows << " cols " << s.cols << " inner " << s.inner;
}

TEST(Brgemm, SumsEachElementInThePromisedOrder) {
  for (const std::int64_t cols : {1, 3, 6, 10, 16, 20, 32, 64, 67, 80, 84, 112, 144})
    for (const std::int64_t rows : {1, 2, 3, 8, 10, 13, 26, 64})
      for (const std::int64_t inner : {1, 3, 10, 64})
        for (const bool transposed : {false, true})
          for (const bool accumulate : {false, true})
            expect_in_promised_order({rows, cols, inner, transposed ? rows : inner, cols, cols, transposed, accumulate},
                                     accumulate ? 3 : 1);
}

TEST(Brgemm, KeepsToItsStrides) {
  expect_in_promised_order({3, 20, 8, 11, 23, 29}, 2);
  expect_in_promised_order({30, 20, 8, 37, 23, 29, true, true}, 2);
}

TEST(Brgemm, TakesStridesBeyond32Bits) {
  constexpr std::int64_t kInner = 8;
  constexpr std::int64_t kFar = (std::int64_t{1} << 32) + kInner;
  constexpr std::int64_t kCols = 32;
  const std::size_t bytes = (kFar + kInner) * sizeof(float);
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) GTEST_SKIP() << "the system does not give so large a range of addresses";
  auto* left = static_cast<float*>(memory);
  std::fill_n(left, kInner, 1.0F);
  std::fill_n(left + kFar, kInner, 2.0F);
  const std::vector<float> right(kInner * kCols, 1.0F);
  std::vector<float> out(2 * kCols);
  Brgemm({.rows = 2, .cols = kCols, .inner = kInner, .left_stride = kFar, .right_stride = kCols, .out_stride = kCols})(
      left, right.data(), out.data());
  munmap(memory, bytes);
  EXPECT_EQ(out.front(), 8);
  EXPECT_EQ(out.back(), 16);
}

TEST(Brgemm, OfNoPairsClearsOrKeepsTheResult) {
  std::vector<float> out(4, 7.0F);
  Brgemm({.rows = 2, .cols = 2, .inner = 3, .left_stride = 3, .right_stride = 2, .out_stride = 2, .accumulate = true})(
      nullptr, nullptr, out.data(), 0);
  EXPECT_EQ(out, std::vector<float>(4, 7.0F));
  Brgemm({.rows = 2, .cols = 2, .inner = 3, .left_stride = 3, .right_stride = 2, .out_stride = 2})(nullptr, nullptr,
                                                                                                   out.data(), 0);
  EXPECT_EQ(out, std::vector<float>(4, 0.0F));
}

TEST(Gemm, CutsIntoBlocksWithoutChangingTheOrder) {
  const std::int64_t rows = 70;
  const std::int64_t cols = 130;
  const std::int64_t inner = 201;
  const std::vector<float> left = random_values(rows * inner, 1);
  const std::vector<float> right = random_values(inner * cols, 2);
  std::vector<float> out(rows * cols);
  gemm({rows, cols, inner, inner, cols, cols}, left.data(), right.data(), out.data());
  using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  const Matrix expected = Eigen::Map<const Matrix>(left.data(), rows, inner)
                              .cast<double>()
                              .lazyProduct(Eigen::Map<const Matrix>(right.data(), inner, cols).cast<double>())
                              .cast<float>();
  for (std::int64_t i = 0; i < rows * cols; ++i) ASSERT_NEAR(out[i], expected.data()[i], 1e-5) << i;
}

}  // namespace
}  // namespace lockring::kernels::cpu
