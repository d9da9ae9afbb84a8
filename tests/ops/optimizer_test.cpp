#include "ops/optimizer_kernel.h"

#include "core/devices.h"
#include "tests/support/tensors.h"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <vector>

namespace lockring {
namespace {

// The buffers of a parameter range of odd length: gradient, two of state, parameters.
struct Buffers {
  Tensor gradient = random_tensor({1003}, 1);
  Tensor first = random_tensor({1003}, 2);
  Tensor second = random_tensor({1003}, 3, 0, 1);
  Tensor parameters = random_tensor({1003}, 4);
};

template <class Function>
struct Builds {
  Function* baseline;
  Function* avx512;

  // Runs `use` with each build's function on buffers of the same content, and compares what it leaves.
  template <class Use>
  void expect_same(const Use& use) const {
    Buffers expected{};
    Buffers actual{};
    use(baseline, expected);
    use(avx512, actual);
    expect_same_bits(actual.first, expected.first);
    expect_same_bits(actual.second, expected.second);
    expect_same_bits(actual.parameters, expected.parameters);
    EXPECT_NE(expected.parameters.data()[1002], Buffers{}.parameters.data()[1002]);
  }
};

class ArenaOnGpuTest : public testing::Test {
 protected:
  void SetUp() override {
    if (gpu_count() == 0) GTEST_SKIP() << "no GPU";
  }
  static constexpr Device kGpu{DeviceKind::cuda, 0};
  template <class T>
  static Tensor on_gpu(const std::vector<T>& values) {
    const auto bytes = static_cast<std::int64_t>(values.size() * sizeof(T));
    Tensor there = Tensor::empty({bytes}, DType::u8);
    std::memcpy(there.raw(), values.data(), static_cast<std::size_t>(bytes));
    return there.to(kGpu);
  }
};

TEST_F(ArenaOnGpuTest, MovesAsTheCpuMovesItsParts) {
  constexpr std::int64_t kCount = 96;
  using enum ElementKind;
  const std::vector<ElementKind> kinds = {weight, weight, bias, statistic, bias, weight};
  const SgdRule sgd{0.3F, 0.01F, 0.9F, 0.1F, true};
  const AdamRule adam_rule{0.3F, 0.1F, 0.99F, 0.1F, 0.999F, 0.001F, 3, 0.02F, 1e-8F};
  ArenaStep step{false, {sgd, sgd}, {adam_rule, adam_rule}, 0.7F, 0.1F, 0.2F};
  step.sgd_of[1].weight_decay = step.adam_of[1].weight_decay = 0;
  for (const bool adam : {false, true}) {
    step.adam = adam;
    const Tensor gradient = random_tensor({kCount}, 1);
    Tensor first = random_tensor({kCount}, 2);
    Tensor second = random_tensor({kCount}, 3, 0, 1);
    Tensor average = random_tensor({kCount}, 4);
    Tensor parameters = random_tensor({kCount}, 5);
    const Tensor kinds_there = on_gpu(kinds);
    const Tensor gradient_there = gradient.to(kGpu);
    Tensor first_there = first.to(kGpu);
    Tensor second_there = second.to(kGpu);
    Tensor average_there = average.to(kGpu);
    Tensor parameters_there = parameters.to(kGpu);
    Tensor step_there = Tensor::empty({static_cast<std::int64_t>(sizeof(ArenaStep))}, DType::u8, kGpu);
    kPutArenaStep.on(kGpu)(step, static_cast<ArenaStep*>(step_there.raw()));
    const ArenaBuffers buffers{static_cast<const ElementKind*>(kinds_there.raw()),
                               gradient_there.data(),
                               parameters_there.data(),
                               first_there.data(),
                               second_there.data(),
                               average_there.data()};
    for (const std::int64_t begin : {0, 48})
      kMoveArena.on(kGpu)(static_cast<const ArenaStep*>(step_there.raw()), nullptr, buffers, begin, begin + 48);
    for (std::size_t i = 0; i < kinds.size(); ++i) {
      const auto at = static_cast<std::int64_t>(i) * kElementsOfAKind;
      const float* g = gradient.data() + at;
      float* p = parameters.data() + at;
      if (kinds[i] == statistic) {
        kMovingAverage.on()(16, g, step.statistic_scale, step.statistic_rate, p);
      } else if (adam) {
        kAdam.on()(step.adam_of[kinds[i] == bias], 16, g, first.data() + at, second.data() + at, p);
      } else {
        kSgd.on()(step.sgd_of[kinds[i] == bias], 16, g, first.data() + at, p);
      }
      kMovingAverage.on()(16, p, 1, step.average_rate, average.data() + at);
    }
    expect_near(parameters_there, parameters, 1e-6);
    expect_near(first_there, first, 1e-6);
    expect_near(second_there, second, 1e-6);
    expect_near(average_there, average, 1e-6);
  }
}

TEST_F(ArenaOnGpuTest, WhatIsNotFiniteMovesNothingFromThenOn) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Tensor rule = on_gpu<VerdictRule>({{.count = 4, .clip_norm = 0.5}});
  Tensor verdict = on_gpu<Verdict>({Verdict{}});
  Tensor parameters = Tensor::full({16}, 1, kGpu);
  const Tensor kinds = on_gpu<ElementKind>({ElementKind::bias});
  ArenaStep numbers{};
  numbers.sgd_of[1].learning_rate = 1;
  const Tensor step = on_gpu<ArenaStep>({numbers});
  const Tensor gradient = Tensor::full({16}, 1, kGpu);
  const auto take = [&](double squares, float loss) {
    const Tensor parts = on_gpu<double>({squares / 2, squares / 2});
    const Tensor losses = on_gpu<float>({1, loss});
    kJudge.on(kGpu)(static_cast<const double*>(parts.raw()), 2, static_cast<const float*>(losses.raw()), 2,
                    static_cast<const VerdictRule*>(rule.raw()), static_cast<Verdict*>(verdict.raw()));
    kMoveArena.on(kGpu)(
        static_cast<const ArenaStep*>(step.raw()), static_cast<const Verdict*>(verdict.raw()),
        {static_cast<const ElementKind*>(kinds.raw()), gradient.data(), parameters.data(), nullptr, nullptr, nullptr},
        0, 16);
    Verdict found{};
    std::memcpy(&found, verdict.to(Device{}).raw(), sizeof(found));
    EXPECT_EQ(found.squares, squares);
    return found;
  };
  EXPECT_EQ(take(1, 2).gradient_scale, 0.25F);    // a norm of 1 / 4
  EXPECT_EQ(take(16, 2).gradient_scale, 0.125F);  // of 1
  expect_near(parameters, Tensor::full({16}, 0.625F));
  EXPECT_EQ(take(1, nan).bad, 1);
  EXPECT_EQ(take(1, 2).bad, 1) << "that stays";
  expect_near(parameters, Tensor::full({16}, 0.625F));
  verdict = on_gpu<Verdict>({Verdict{}});
  EXPECT_EQ(take(std::numeric_limits<double>::infinity(), 2).bad, 1);
}

TEST(OptimizerKernels, BitsDoNotDependOnTheInstructionSet) {
  if (active_isa() != Isa::avx512) GTEST_SKIP() << "this processor has no AVX-512";
  for (const bool nesterov : {false, true}) {
    const SgdRule rule{0.3F, 0.01F, 0.9F, 0.1F, nesterov};
    Builds<SgdFn>{LOCKRING_SIMD_KERNELS(sgd)}.expect_same([&](SgdFn* sgd, Buffers& b) {
      sgd(rule, 1003, b.gradient.data(), b.first.data(), b.parameters.data());
      sgd(rule, 1003, b.gradient.data(), nullptr, b.parameters.data());
    });
  }
  const AdamRule rule{0.3F, 0.1F, 0.99F, 0.1F, 0.999F, 0.001F, 3, 0.02F, 1e-8F};
  Builds<AdamFn>{LOCKRING_SIMD_KERNELS(adam)}.expect_same([&](AdamFn* adam, Buffers& b) {
    adam(rule, 1003, b.gradient.data(), b.first.data(), b.second.data(), b.parameters.data());
  });
  Builds<MovingAverageFn>{LOCKRING_SIMD_KERNELS(moving_average)}.expect_same(
      [](MovingAverageFn* average, Buffers& b) { average(1003, b.gradient.data(), 0.7F, 0.1F, b.parameters.data()); });
}

}  // namespace
}  // namespace lockring
