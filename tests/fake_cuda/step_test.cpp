// What the fake shows of a whole step: nothing in it waits for the device or asks it for memory.
#include "core/autograd.h"
#include "ops/argmax.h"
#include "ops/batch_norm.h"
#include "ops/cast.h"
#include "ops/conv2d.h"
#include "ops/conv_relu_pool.h"
#include "ops/cross_entropy.h"
#include "ops/dropout.h"
#include "ops/elementwise.h"
#include "ops/linear.h"
#include "ops/max_pool2d.h"
#include "ops/optimizer_kernel.h"
#include "ops/reshape.h"
#include "tests/fake_cuda/machine.h"
#include "tests/support/tensors.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace lockring {
namespace {

constexpr Device kGpu{DeviceKind::cuda, 0};

// A small model of every kind of layer, and plain gradient descent.
class Step {
 public:
  Step() {
    const Shape shapes[] = {{8, 3, 3, 1}, {8}, {8, 3, 3, 8}, {8}, {8}, {16, 72}, {16}, {5, 16}, {5}};
    for (std::size_t i = 0; i < parameters_.size(); ++i)
      parameters_[i].set_value(random_tensor(shapes[i], i + 1, -0.3F, 0.3F).to(kGpu));
  }

  void run() {
    const auto p = [this](std::size_t i) -> const Tensor& { return parameters_[i].tensor(); };
    Tensor x = ops::conv_relu_pool(images_, p(0), p(1));
    x = ops::batch_norm_train(ops::conv2d(x, p(2), {}, {.padding = 1}), p(3), p(4));
    x = ops::add(ops::gelu(x), ops::silu(x));
    x = ops::flatten(ops::max_pool2d(x, 2, 2));
    x = ops::dropout(ops::linear(x, p(5), p(6), Activation::relu), 0.1F, {});
    x = ops::linear(x, p(7), p(8));
    loss = ops::cross_entropy(x, labels_, 0.1F);
    correct = ops::correct_count(x, labels_);
    backward(loss);
    for (Leaf& parameter : parameters_) {
      Tensor value = parameter.tensor().detach();
      auto* step = static_cast<ArenaStep*>(step_.raw());
      ArenaStep numbers{};
      numbers.sgd_of[0] = {1 / 6.0F, 0.05F, 0, 0, false};
      kPutArenaStep.on(kGpu)(numbers, step);
      kMoveArena.on(kGpu)(step, nullptr,
                          {.kinds = static_cast<const ElementKind*>(kinds_.raw()),
                           .gradient = parameter.grad().data(),
                           .parameters = value.data(),
                           .first = nullptr,
                           .second = nullptr,
                           .average = nullptr},
                          0, value.elements());
      parameter.clear_gradient();
    }
  }

  Tensor loss, correct;

 private:
  Tensor images_ = random_tensor({6, 14, 14, 1}, 20).to(kGpu);
  Tensor step_ = Tensor::empty({static_cast<std::int64_t>(sizeof(ArenaStep))}, DType::u8, kGpu);
  Tensor kinds_ = Tensor::zeros({16 * 72 / kElementsOfAKind}, DType::u8, kGpu);  // weights
  Tensor labels_ = Tensor::zeros({6}, DType::i32, kGpu);
  std::array<Leaf, 9> parameters_;
};

TEST(FakeStep, NeitherWaitsNorAllocates) {
  Step step;
  step.run();
  const float first = step.loss.item();
  step.run();
  const fake_cuda::Counters before = fake_cuda::counters();
  for (int i = 0; i < 5; ++i) step.run();
  const fake_cuda::Counters after = fake_cuda::counters();
  EXPECT_EQ(after.waits, before.waits);
  EXPECT_EQ(after.allocations, before.allocations);
  EXPECT_LT(step.loss.item(), first);
  EXPECT_EQ(step.correct.item<std::int64_t>(), 6);
  EXPECT_GT(fake_cuda::counters().waits, after.waits);  // reading does wait
}

// Forward and backward of a convolution and a layer behind it, whose parameters are parts of one tensor.
std::vector<Tensor> layers_in_bf16(const Tensor& parameters) {
  const auto part = [&](std::int64_t first, const Shape& shape) {
    return parameters.slice(first, first + shape.elements()).view(shape);
  };
  Leaf x(ops::cast(random_tensor({2, 4, 4, 8}, 5).to(kGpu), DType::bf16));
  const Tensor z = ops::conv2d(x.tensor(), part(0, {16, 3, 3, 8}), part(1152, {16}), {.padding = 1});
  const Tensor y = ops::linear(ops::flatten(z), part(1168, {8, 256}), part(3216, {8}), Activation::none);
  backward(y, ops::cast(random_tensor({2, 8}, 6).to(kGpu), DType::bf16));
  return {ops::cast(y.detach(), DType::f32), ops::cast(x.grad(), DType::f32)};
}

TEST(FakeStep, RoundsParametersOnce) {
  Tensor parameters = random_tensor({3224}).to(kGpu);
  const auto launches = [&](std::vector<Tensor>& results, DType dtype) {
    const std::int64_t before = fake_cuda::counters().launches;
    const ops::CastOnce once(parameters, dtype);
    results = layers_in_bf16(parameters);
    return fake_cuda::counters().launches - before;
  };
  std::vector<Tensor> first, each, once, changed;
  launches(first, DType::f32);  // measures
  // The weights of both, forward and backward, and the layer's bias; against all of them.
  EXPECT_EQ(launches(each, DType::f32), launches(once, DType::bf16) + 5 - 1);
  expect_same_bits(once[0], each[0]);
  expect_same_bits(once[1], each[1]);
  parameters.copy_from(random_tensor({3224}, 2));
  launches(changed, DType::f32);
  EXPECT_NE(changed[0].to(Device{}).data()[0], once[0].to(Device{}).data()[0]);
}

}  // namespace
}  // namespace lockring
