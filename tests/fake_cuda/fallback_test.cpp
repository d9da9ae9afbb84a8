// Where cuDNN and cuBLASLt have no algorithm, kernels of our own give what the CPU gives, and people are told.
#include "core/autograd.h"
#include "core/device_graph.h"
#include "core/notes.h"
#include "ops/cast.h"
#include "ops/conv2d.h"
#include "ops/linear.h"
#include "tests/fake_cuda/machine.h"
#include "tests/support/tensors.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

namespace lockring {
namespace {

constexpr Device kGpu{DeviceKind::cuda, 0};

class Fallback : public testing::TestWithParam<fake_cuda::Refusal> {
 protected:
  void SetUp() override { fake_cuda::refuse_libraries(GetParam()); }
  void TearDown() override { fake_cuda::refuse_libraries(fake_cuda::Refusal::nothing); }
  // Plans are kept, with what was refused: shapes are of no other test, and not the same for each refusal.
  static std::int64_t batch() { return GetParam() == fake_cuda::Refusal::algorithms ? 2 : 3; }
};

using Layer = std::function<Tensor(const Tensor& x, const Tensor& w, const Tensor& b)>;

// The layer's result, and two times the gradients of its sum, which are added up.
std::vector<Tensor> results(const Layer& layer, const Tensor& x, const Tensor& w, const Tensor& b, Device device) {
  Leaf input, weights, bias;
  input.set_value(x.to(device));
  weights.set_value(w.to(device));
  bias.set_value(b.to(device));
  Tensor y;
  for (int pass = 0; pass < 2; ++pass) {
    y = layer(input.tensor(), weights.tensor(), bias.tensor());
    backward(y, Tensor::full(y.shape(), 0.5F).to(device));
  }
  return {y.to(Device{}), input.grad().to(Device{}), weights.grad().to(Device{}), bias.grad().to(Device{})};
}

// Returns what was said.
std::vector<std::string> expect_same(const Layer& layer, const Tensor& x, const Tensor& w, const Tensor& b,
                                     DType dtype = DType::f32) {
  const Layer on_gpu = [&](const Tensor& from, const Tensor& weights, const Tensor& bias) {
    return ops::cast(layer(ops::cast(from, dtype), weights, bias), DType::f32);
  };
  take_notes();
  const std::vector<Tensor> found = results(on_gpu, x, w, b, kGpu);
  std::vector<std::string> notes = take_notes();
  EXPECT_FALSE(notes.empty());
  const std::vector<Tensor> expected = results(layer, x, w, b, Device{});
  for (std::size_t i = 0; i < expected.size(); ++i)
    expect_near(found[i], expected[i], dtype == DType::bf16 ? 0.03 : 1e-5, "result " + std::to_string(i));
  return notes;
}

TEST_P(Fallback, Convolves) {
  expect_same([](const Tensor& x, const Tensor& w, const Tensor& b) { return ops::conv2d(x, w, b, {.padding = 1}); },
              random_tensor({batch(), 7, 6, 3}), random_tensor({5, 3, 3, 3}, 2), random_tensor({5}, 3));
}

TEST_P(Fallback, ConvolvesWithAStride) {
  expect_same([](const Tensor& x, const Tensor& w,
                 const Tensor& b) { return ops::conv2d(x, w, b, {.stride = 2, .padding = 2}); },
              random_tensor({batch(), 9, 8, 2}), random_tensor({4, 3, 5, 2}, 2), random_tensor({4}, 3));
}

TEST_P(Fallback, Multiplies) {
  expect_same([](const Tensor& x, const Tensor& w, const Tensor& b) { return ops::linear(x, w, b, Activation::relu); },
              random_tensor({batch(), 37}), random_tensor({11, 37}, 2), random_tensor({11}, 3));
}

TEST_P(Fallback, ComputesWithBfloat16) {
  expect_same([](const Tensor& x, const Tensor& w, const Tensor& b) { return ops::conv2d(x, w, b); },
              random_tensor({batch(), 6, 5, 2}), random_tensor({3, 3, 3, 2}, 2), random_tensor({3}, 3), DType::bf16);
  expect_same([](const Tensor& x, const Tensor& w, const Tensor& b) { return ops::linear(x, w, b, Activation::none); },
              random_tensor({batch(), 23}), random_tensor({9, 23}, 2), random_tensor({9}, 3), DType::bf16);
}

INSTANTIATE_TEST_SUITE_P(, Fallback, testing::Values(fake_cuda::Refusal::algorithms, fake_cuda::Refusal::calls));

// What is met for the first time while a step is recorded cannot be recorded, and is measured later.
TEST(FallbackNotes, ARecordingTellsNothingOfTheLibraries) {
  const Tensor x = random_tensor({2, 11, 10, 3}).to(kGpu);
  const Tensor w = random_tensor({7, 3, 3, 3}).to(kGpu);
  const NoGrad no_grad;
  DeviceGraph graph(kGpu);
  EXPECT_FALSE(graph.record([&] { ops::conv2d(x, w); }));
  const Tensor found = ops::conv2d(x, w);
  EXPECT_TRUE(take_notes().empty());
  expect_near(found, ops::conv2d(x.to(Device{}), w.to(Device{})));
}

TEST(FallbackNotes, NameTheShapeAndTheReason) {
  take_notes();
  fake_cuda::refuse_libraries(fake_cuda::Refusal::calls);
  const NoGrad no_grad;
  ops::linear(random_tensor({2, 41}).to(kGpu), random_tensor({3, 41}).to(kGpu), {}, Activation::none);
  fake_cuda::refuse_libraries(fake_cuda::Refusal::nothing);
  const std::vector<std::string> notes = take_notes();
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_EQ(notes[0].find("a slow kernel multiplies 3 x 41 x 2, since cuBLASLt does not: "), 0U) << notes[0];
}

// The double has no algorithm for bfloat16 of one channel.
TEST(FallbackNotes, TellWhatIsNotOfBfloat16) {
  const auto notes =
      expect_same([](const Tensor& x, const Tensor& w, const Tensor& b) { return ops::conv2d(x, w, b); },
                  random_tensor({4, 9, 8, 1}), random_tensor({6, 3, 3, 1}, 2), random_tensor({6}, 3), DType::bf16);
  EXPECT_EQ(notes, std::vector<std::string>{"9 x 8 x 1 images are convolved to 6 channels in float32, not bfloat16: "
                                            "cuDNN has no algorithm for it"});
}

}  // namespace
}  // namespace lockring
