#include "ops/gradient_sums_kernel.h"

#include "tests/support/device_test.h"
#include "tests/support/tensors.h"

#include <gtest/gtest.h>

#include <bit>
#include <vector>

namespace lockring {
namespace {

constexpr std::int64_t kElements = 1600;

std::vector<Tensor> random_shards(int count) {
  std::vector<Tensor> shards;
  for (int s = 0; s < count; ++s) shards.push_back(random_tensor({kElements}, static_cast<std::uint64_t>(s) + 1));
  return shards;
}

std::vector<const float*> pointers(const std::vector<Tensor>& shards) {
  std::vector<const float*> result;
  for (const Tensor& shard : shards) result.push_back(shard.data());
  return result;
}

// The definition, level by level.
float paired_up(std::vector<float> values) {
  while (values.size() > 1) {
    std::vector<float> sums;
    for (std::size_t i = 0; i + 1 < values.size(); i += 2) sums.push_back(values[i] + values[i + 1]);
    if (values.size() % 2 == 1) sums.push_back(values.back());
    values = sums;
  }
  return values[0];
}

TEST(TreeSum, AddsAdjacentPairs) {
  for (const int count : {1, 2, 3, 4, 5, 6, 7, 8, 11, 16, 37}) {
    const std::vector<Tensor> shards = random_shards(count);
    Tensor expected = Tensor::zeros({kElements});
    for (std::int64_t i = 16; i < kElements - 48; ++i) {
      std::vector<float> values;
      for (const Tensor& shard : shards) values.push_back(shard.data()[i]);
      expected.data()[i] = paired_up(values);
    }
    Tensor sum = Tensor::zeros({kElements});
    kTreeSum.on()(pointers(shards).data(), count, 16, kElements - 48, sum.data());
    expect_same_bits(sum, expected, std::to_string(count) + " shards");
  }
}

TEST(TreeSum, MayOverwriteAShard) {
  for (const int count : {1, 2, 3, 8}) {
    for (const int target : {0, count - 1}) {
      Tensor expected = Tensor::empty({kElements});
      kTreeSum.on()(pointers(random_shards(count)).data(), count, 0, kElements, expected.data());
      std::vector<Tensor> shards = random_shards(count);
      Tensor& out = shards[static_cast<std::size_t>(target)];
      kTreeSum.on()(pointers(shards).data(), count, 0, kElements, out.data());
      expect_same_bits(out, expected, std::to_string(count) + " shards");
    }
  }
}

double square_sum(SquareSumFn* kernel, const Tensor& values, std::int64_t count) {
  double sum = -1;
  kernel(values.data(), count, &sum);
  return sum;
}

TEST(SquareSum, MatchesKnownValues) {
  Tensor values = Tensor::zeros({32});
  EXPECT_EQ(square_sum(kSquareSum.on(), values, 32), 0);
  values.data()[0] = 3e30F;
  values.data()[31] = -4e30F;
  EXPECT_NEAR(square_sum(kSquareSum.on(), values, 32), 25e60, 1e54);
  EXPECT_EQ(square_sum(kSquareSum.on(), values, 0), 0);
}

using GradientSumsTest = DeviceTest;
LOCKRING_DEVICE_TESTS(GradientSumsTest);

TEST_P(GradientSumsTest, AreTheCpusBitForBitOrNearlySo) {
  for (const int count : {1, 2, 3, 7, 8, 37}) {
    const std::vector<Tensor> shards = random_shards(count);
    Tensor expected = Tensor::zeros({kElements});
    kTreeSum.on()(pointers(shards).data(), count, 16, kElements, expected.data());
    std::vector<Tensor> copies;
    for (const Tensor& shard : shards) copies.push_back(shard.to(device()));
    Tensor sum = Tensor::zeros({kElements}, DType::f32, device());
    kTreeSum.on(device())(pointers(copies).data(), count, 16, kElements, sum.data());
    expect_same_bits(sum, expected, std::to_string(count) + " shards");
  }
  const Tensor values = random_tensor({kElements});
  const Tensor copy = values.to(device());
  Tensor sum = Tensor::empty({1}, DType::i64, device());  // of the size of a double
  kSquareSum.on(device())(copy.data(), kElements, static_cast<double*>(sum.raw()));
  const double squares = std::bit_cast<double>(sum.item<std::int64_t>());
  EXPECT_NEAR(squares, square_sum(kSquareSum.on(), values, kElements), 1e-9 * squares);
}

TEST(GradientSums, BitsDoNotDependOnTheInstructionSet) {
  if (active_isa() != Isa::avx512) GTEST_SKIP() << "this processor has no AVX-512";
  SquareSumFn* const square_sums[] = {LOCKRING_SIMD_KERNELS(square_sum)};
  const Tensor values = random_tensor({kElements});
  EXPECT_EQ(square_sum(square_sums[0], values, kElements), square_sum(square_sums[1], values, kElements));

  TreeSumFn* const tree_sums[] = {LOCKRING_SIMD_KERNELS(tree_sum)};
  const std::vector<Tensor> shards = random_shards(7);
  Tensor sums[] = {Tensor::empty({kElements}), Tensor::empty({kElements})};
  for (int build : {0, 1}) tree_sums[build](pointers(shards).data(), 7, 0, kElements, sums[build].data());
  expect_same_bits(sums[1], sums[0]);
}

}  // namespace
}  // namespace lockring
