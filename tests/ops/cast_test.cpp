#include "ops/cast.h"

#include "core/autograd.h"
#include "core/devices.h"
#include "core/notes.h"
#include "ops/avg_pool2d.h"
#include "ops/batch_norm.h"
#include "ops/conv2d.h"
#include "ops/conv_relu_pool.h"
#include "ops/dropout.h"
#include "ops/elementwise.h"
#include "ops/global_pool.h"
#include "ops/linear.h"
#include "ops/max_pool2d.h"
#include "ops/reshape.h"
#include "tests/support/errors.h"
#include "tests/support/tensors.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <memory>
#include <string_view>

namespace lockring {
namespace {

constexpr Device kGpu{DeviceKind::cuda, 0};

class CastTest : public testing::Test {
 protected:
  void SetUp() override {
    if (gpu_count() == 0) GTEST_SKIP() << "no GPU";
  }
};

TEST_F(CastTest, RoundsToTheNearest) {
  const Tensor x = Tensor::from({1, -2.5F, 1.00390625F, 1.01171875F, 3e38F, INFINITY, 0, 1e-40F, 0.3F}, {9}, kGpu);
  const Tensor rounded = ops::cast(x, DType::bf16);
  EXPECT_EQ(rounded.dtype(), DType::bf16);
  expect_same_bits(
      ops::cast(rounded, DType::f32),
      Tensor::from({1, -2.5F, 1, 1.015625F, 3.00405527e38F, INFINITY, 0, 9.18354962e-41F, 0.30078125F}, {9}).to(kGpu));
  EXPECT_EQ(ops::cast(x, DType::f32).raw(), x.raw());
}

TEST_F(CastTest, TheGradientComesBackInTheTypeOfTheInput) {
  Leaf x(Tensor::from({1, 2, 3}, {3}, kGpu));
  const Tensor y = ops::cast(x.tensor(), DType::bf16);
  backward(y, ops::cast(Tensor::from({0.5F, 0, -4}, {3}, kGpu), DType::bf16));
  EXPECT_EQ(x.grad().dtype(), DType::f32);
  expect_values(x.grad(), {0.5F, 0, -4}, 0);
}

TEST_F(CastTest, CpusComputeWithFloat32Alone) {
  const Tensor x = Tensor::full({2, 3}, 1);
  expect_error(ErrorCode::device, "cast has no kernel for device cpu", [&] { ops::cast(x, DType::bf16); });
  expect_error(ErrorCode::device, "bfloat16 is computed with on GPUs alone",
               [] { ops::relu(Tensor::zeros({3}, DType::bf16)); });
}

// An op of images and parameters.
using Parameters = std::vector<Tensor>;
struct OpCase {
  const char* name;
  std::function<Tensor(const Tensor& x, const Parameters& p)> f;
  Shape x;
  std::vector<Shape> parameters = {};
};

void PrintTo(const OpCase& op, std::ostream* out) { *out << op.name; }

// Whole numbers, of which sums and products up to 256 are exact in both types.
Tensor whole_numbers(const Shape& shape, std::uint64_t seed) {
  Tensor values = random_tensor(shape, seed, -2.5F, 2.5F);
  for (float& value : values.values()) value = std::round(value);
  return values.to(kGpu);
}

struct Outcome {
  Tensor y, dx;
  std::vector<Tensor> gradients;
};

Outcome run(const OpCase& op, DType dtype) {
  Leaf x(ops::cast(whole_numbers(op.x, 1), dtype));
  std::vector<std::unique_ptr<Leaf>> leaves;
  Parameters parameters;
  for (const Shape& shape : op.parameters) {
    leaves.push_back(std::make_unique<Leaf>(whole_numbers(shape, leaves.size() + 2)));
    parameters.push_back(leaves.back()->tensor());
  }
  const Tensor y = op.f(x.tensor(), parameters);
  EXPECT_EQ(y.dtype(), dtype);
  backward(y, ops::cast(whole_numbers(y.shape(), 9), dtype));
  EXPECT_EQ(x.grad().dtype(), dtype);
  Outcome outcome{ops::cast(y.detach(), DType::f32), ops::cast(x.grad(), DType::f32), {}};
  for (const auto& leaf : leaves) outcome.gradients.push_back(leaf->grad());
  return outcome;
}

class Bf16OpTest : public testing::TestWithParam<OpCase> {
 protected:
  void SetUp() override {
    if (gpu_count() == 0) GTEST_SKIP() << "no GPU";
  }
};

TEST_P(Bf16OpTest, IsFloat32ButForRounding) {
  constexpr double kRounding = 0x1p-7;  // twice that of one number
  const Outcome expected = run(GetParam(), DType::f32);
  const Outcome actual = run(GetParam(), DType::bf16);
  if (std::string_view(GetParam().name) == "conv2d_of_one_channel") take_notes();  // cuDNN need not know bfloat16 of it
  expect_near(actual.y, expected.y, kRounding, "y");
  expect_near(actual.dx, expected.dx, kRounding, "dx");
  for (std::size_t i = 0; i < actual.gradients.size(); ++i) {
    EXPECT_EQ(actual.gradients[i].dtype(), DType::f32);
    expect_near(actual.gradients[i], expected.gradients[i], kRounding, "a parameter's gradient");
  }
}

const OpCase kOps[] = {
    {"relu", [](const Tensor& x, const Parameters&) { return ops::relu(x); }, {5, 7}},
    {"gelu", [](const Tensor& x, const Parameters&) { return ops::gelu(x); }, {4, 16}},
    {"silu", [](const Tensor& x, const Parameters&) { return ops::silu(x); }, {4, 16}},
    {"add", [](const Tensor& x, const Parameters&) { return ops::add(x, ops::relu(x)); }, {3, 8}},
    {"dropout", [](const Tensor& x, const Parameters&) { return ops::dropout(x, 0.5F, {.seed = 3}); }, {6, 9}},
    {"flatten", [](const Tensor& x, const Parameters&) { return ops::flatten(x); }, {2, 3, 3, 2}},
    {"max_pool2d", [](const Tensor& x, const Parameters&) { return ops::max_pool2d(x, 2, 2); }, {2, 5, 5, 3}},
    {"max_pool2d_packed", [](const Tensor& x, const Parameters&) { return ops::max_pool2d(x, 3, 2); }, {2, 7, 7, 16}},
    {"avg_pool2d", [](const Tensor& x, const Parameters&) { return ops::avg_pool2d(x, 2, 1); }, {2, 5, 5, 8}},
    {"global_max_pool", [](const Tensor& x, const Parameters&) { return ops::global_max_pool(x); }, {2, 3, 3, 8}},
    {"global_avg_pool", [](const Tensor& x, const Parameters&) { return ops::global_avg_pool(x); }, {2, 3, 3, 5}},
    {"conv2d",
     [](const Tensor& x, const Parameters& p) { return ops::conv2d(x, p[0], p[1], {.padding = 1}); },
     {3, 6, 6, 4},
     {{8, 3, 3, 4}, {8}}},
    {"conv2d_relu",
     [](const Tensor& x, const Parameters& p) {
       return ops::conv2d(x, p[0], {}, {.stride = 2, .activation = Activation::relu});
     },
     {2, 7, 7, 3},
     {{5, 3, 3, 3}}},
    {"conv2d_of_one_channel",
     [](const Tensor& x, const Parameters& p) { return ops::conv2d(x, p[0], p[1]); },
     {3, 6, 6, 1},
     {{8, 3, 3, 1}, {8}}},
    {"conv_relu_pool",
     [](const Tensor& x, const Parameters& p) { return ops::conv_relu_pool(x, p[0], p[1], 1); },
     {3, 7, 7, 2},
     {{8, 3, 3, 2}, {8}}},
    {"linear",
     [](const Tensor& x, const Parameters& p) { return ops::linear(x, p[0], p[1], Activation::relu); },
     {6, 12},
     {{10, 12}, {10}}},
    {"linear_without_bias",
     [](const Tensor& x, const Parameters& p) { return ops::linear(x, p[0]); },
     {5, 8},
     {{16, 8}}},
    {"batch_norm_train",
     [](const Tensor& x, const Parameters& p) { return ops::batch_norm_train(x, p[0], p[1], {.group = 4}); },
     {13, 3, 3, 8},
     {{8}, {8}}},
    {"batch_norm_eval",
     [](const Tensor& x, const Parameters& p) {
       return ops::batch_norm_eval(x, p[0], p[1], Tensor::full({5}, 0.5F, kGpu), Tensor::full({5}, 2, kGpu),
                                   {.activation = Activation::relu});
     },
     {4, 2, 2, 5},
     {{5}, {5}}},
};
INSTANTIATE_TEST_SUITE_P(, Bf16OpTest, testing::ValuesIn(kOps),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace lockring
