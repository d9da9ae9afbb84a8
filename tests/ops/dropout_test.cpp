#include "ops/dropout.h"

#include "core/rng.h"
#include "ops/dropout_kernel.h"
#include "tests/ops/instruction_sets.h"
#include "tests/support/device_test.h"
#include "tests/support/errors.h"
#include "tests/support/gradient_check.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

namespace lockring {
namespace {

using DropoutTest = DeviceTest;
LOCKRING_DEVICE_TESTS(DropoutTest);

TEST_P(DropoutTest, DrawsTheWordsThatItsHeaderStates) {
  const ops::DropoutKey key{.seed = 7, .step = 3, .layer = 2, .first_sample = (std::int64_t{1} << 33) + 5};
  Rng rng(key.seed, RngStream::dropout, 3, 2);
  const std::uint32_t low = rng.next_u32();
  const std::uint32_t high = rng.next_u32();
  for (const std::int64_t columns : {1, 4, 31, 64, 65, 130}) {
    const Tensor x = random_tensor({3, columns}, 1, 1, 2);
    const Tensor y = on_cpu(ops::dropout(x.to(device()), 0.25F, key));
    for (std::uint32_t i = 0; i < 3; ++i)
      for (std::uint32_t j = 0; j < columns; ++j) {
        const std::uint32_t word = philox({j / 4, 0, i + 5, 2}, {low, high})[j % 4];
        const float value = x.data()[i * columns + j];
        EXPECT_EQ(y.data()[i * columns + j], word < 1U << 30 ? 0 : value * (1 / 0.75F)) << i << " " << j;
      }
  }
}

TEST_P(DropoutTest, OfASampleDoesNotDependOnTheBatch) {
  const Tensor x = random({6, 5, 7});
  const Tensor y = ops::dropout(x, 0.5F, {.seed = 1, .first_sample = 10});
  expect_same_bits(ops::dropout(x.slice(2, 5), 0.5F, {.seed = 1, .first_sample = 12}), y.slice(2, 5));
}

TEST_P(DropoutTest, DiffersBySeedStepLayerAndSample) {
  const Tensor x = Tensor::full({1, 64}, 1, device());
  const ops::DropoutKey key{.seed = 1, .step = 1, .layer = 1, .first_sample = 1};
  const Tensor y = ops::dropout(x, 0.5F, key);
  expect_same_bits(ops::dropout(x, 0.5F, key), y);
  for (std::int64_t ops::DropoutKey::*field : {&ops::DropoutKey::step, &ops::DropoutKey::first_sample}) {
    ops::DropoutKey other = key;
    other.*field = 2;
    EXPECT_FALSE(std::ranges::equal(on_cpu(ops::dropout(x, 0.5F, other)).values(), on_cpu(y).values()));
  }
  for (const ops::DropoutKey& other : {ops::DropoutKey{2, 1, 1, 1}, ops::DropoutKey{1, 1, 2, 1}})
    EXPECT_FALSE(std::ranges::equal(on_cpu(ops::dropout(x, 0.5F, other)).values(), on_cpu(y).values()));
}

TEST_P(DropoutTest, DropsTheShareItWasAskedFor) {
  constexpr std::int64_t kCount = 1 << 18;
  const Tensor y = on_cpu(ops::dropout(Tensor::full({64, kCount / 64}, 1, device()), 0.2F, {.seed = 3}));
  const auto dropped = static_cast<double>(std::ranges::count(y.values(), 0.0F));
  EXPECT_NEAR(dropped / kCount, 0.2, 0.004);  // five standard deviations
  EXPECT_EQ(std::ranges::max(y.values()), 1.25F);
}

TEST_P(DropoutTest, GradientMatchesFiniteDifferences) {
  check_gradients([](auto x) { return ops::dropout(x[0], 0.4F, {.seed = 5}); }, {random({3, 2, 9})});
}

TEST_P(DropoutTest, WithoutProbabilityOrRowsDoesNothing) {
  const Tensor x = random({2, 3});
  EXPECT_EQ(ops::dropout(x, 0, {}).raw(), x.raw());
  EXPECT_EQ(ops::dropout(random({0, 3}), 0.5F, {}).shape(), Shape({0, 3}));
}

TEST_P(DropoutTest, RefusesWhatIsNoProbability) {
  const Tensor x = random({2, 3});
  for (const float probability : {1.0F, -0.1F, std::numeric_limits<float>::quiet_NaN()})
    expect_error(ErrorCode::usage, "[0, 1)", [&] { ops::dropout(x, probability, {}); });
  expect_error(ErrorCode::usage, "rank 0", [] { ops::dropout(Tensor::zeros({}), 0.5F, {}); });
}

TEST(Dropout, BitsDoNotDependOnTheInstructionSet) {
  const Tensor x = random_tensor({5, 77});
  expect_same_bits_on_both(LOCKRING_SIMD_KERNELS(dropout), [&](auto* dropout) {
    Tensor y = Tensor::empty(x.shape());
    dropout(x.data(), 5, 77, 3, 0x123456789ABCDEF0, nullptr, 1U << 31, 2, y.data());
    return y;
  });
}

}  // namespace
}  // namespace lockring
