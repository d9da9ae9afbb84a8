#include "ops/optimizer_kernel.h"

#include "tests/support/device_test.h"
#include "tests/support/tensors.h"

#include <gtest/gtest.h>

namespace lockring {
namespace {

// The buffers of a parameter range of odd length: gradient, two of state, parameters.
struct Buffers {
  Device device;
  Tensor gradient = random_tensor({1003}, 1).to(device);
  Tensor first = random_tensor({1003}, 2).to(device);
  Tensor second = random_tensor({1003}, 3, 0, 1).to(device);
  Tensor parameters = random_tensor({1003}, 4).to(device);
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

using OptimizerTest = DeviceTest;
LOCKRING_DEVICE_TESTS(OptimizerTest);

TEST_P(OptimizerTest, AgreesWithTheCpu) {
  const SgdRule sgd{0.3F, 0.01F, 0.9F, 0.1F, true};
  const AdamRule adam{0.3F, 0.1F, 0.99F, 0.1F, 0.999F, 0.001F, 3, 0.02F, 1e-8F};
  Buffers expected{};
  Buffers actual{device()};
  for (Buffers* b : {&expected, &actual}) {
    kSgd.on(b->device)(sgd, 1003, b->gradient.data(), b->first.data(), b->parameters.data());
    kSgd.on(b->device)(sgd, 1003, b->gradient.data(), nullptr, b->parameters.data());
    kAdam.on(b->device)(adam, 1003, b->gradient.data(), b->first.data(), b->second.data(), b->parameters.data());
    kMovingAverage.on(b->device)(1003, b->parameters.data(), 0.7F, 0.1F, b->gradient.data());
  }
  expect_near(actual.first, expected.first, 1e-6);
  expect_near(actual.second, expected.second, 1e-6);
  expect_near(actual.parameters, expected.parameters, 1e-6);
  expect_near(actual.gradient, expected.gradient, 1e-6);
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
