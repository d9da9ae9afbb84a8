// The layers: what they add to the ops that they call.
#include "nn/layers.h"

#include "nn/batch_norm.h"
#include "nn/conv2d.h"
#include "nn/linear.h"
#include "nn/model.h"
#include "nn/sequential.h"
#include "ops/batch_norm.h"
#include "ops/conv2d.h"
#include "ops/elementwise.h"
#include "ops/linear.h"
#include "ops/max_pool2d.h"
#include "tests/support/tensors.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>

namespace lockring::nn {
namespace {

// A model of one layer, "layer", with random parameters.
template <class Layer, class... Args>
Model model_of(Args&&... args) {
  auto root = std::make_unique<Sequential>();
  root->add<Layer>("layer", std::forward<Args>(args)...);
  return {std::move(root), 3};
}

Tensor parameter(const Model& model, const std::string& name) {
  return model.parameters().view(*model.layout().find("layer." + name));
}

// New values; the layer's own copies are then out of date until refresh.
void randomize(Model& model, std::uint64_t seed, float low = -1, float high = 1) {
  for (const Segment& segment : model.layout().segments()) {
    const Tensor values = random_tensor(segment.shape, seed++, low, high);
    std::ranges::copy(values.values(), model.parameters().view(segment).data());
  }
}

TEST(Flatten, KeepsTheBatch) {
  const Tensor y = Flatten().forward(random_tensor({2, 3, 4, 5}), {});
  EXPECT_EQ(to_string(y.shape()), "[2, 60]");
}

TEST(Relu, CutsBelowZero) { expect_values(Relu().forward(Tensor::from({-1, 0, 2}, {3}), {}), {0, 0, 2}); }

TEST(MaxPool2d, StridesByItsKernelUnlessTold) {
  const Tensor x = random_tensor({2, 6, 6, 3});
  expect_same_bits(MaxPool2d(3).forward(x, {}), ops::max_pool2d(x, 3, 3));
  expect_same_bits(MaxPool2d(3, 1).forward(x, {}), ops::max_pool2d(x, 3, 1));
}

TEST(GlobalPool, LeavesOneValueAChannel) {
  const Tensor x = Tensor::from({1, 10, 2, 20, 3, 30, 6, 0}, {1, 2, 2, 2});
  expect_values(GlobalMaxPool().forward(x, {}), {6, 30});
  expect_values(GlobalAvgPool().forward(x, {}), {3, 15});
}

TEST(Dropout, DoesNothingInEvaluation) {
  const Tensor x = random_tensor({4, 10});
  expect_same_bits(Dropout(0.9F).forward(x, {.training = false}), x);
}

TEST(Dropout, DrawsBySeedStepLayerAndSample) {
  const Tensor x = Tensor::full({4, 200}, 1);
  const Context context{.training = true, .seed = 1, .step = 2, .first_sample = 8};
  const Dropout dropout(0.25F, 1);
  const Tensor y = dropout.forward(x, context);
  expect_same_bits(Dropout(0.25F, 1).forward(x, context), y);
  const Tensor last = dropout.forward(x.slice(0, 1), {.training = true, .seed = 1, .step = 2, .first_sample = 11});
  expect_same_bits(last, y.slice(3, 4));
  const auto expect_others = [&](const Dropout& other, const Context& in) {
    EXPECT_FALSE(std::ranges::equal(std::as_const(y).values(), other.forward(x, in).values()));
  };
  expect_others(Dropout(0.25F, 2), context);
  expect_others(dropout, {.training = true, .seed = 2, .step = 2, .first_sample = 8});
  expect_others(dropout, {.training = true, .seed = 1, .step = 3, .first_sample = 8});
}

TEST(Linear, IsTheOpWithWeightsPackedOrNot) {
  const NoGrad no_grad;
  const Tensor x = random_tensor({3, 400});
  for (const std::int64_t out : {10, 400}) {  // the larger weights are packed for inference only
    Model model = model_of<Linear>(400, out, Activation::relu);
    randomize(model, 4);
    for (const Purpose purpose : {Purpose::training, Purpose::inference, Purpose::training}) {
      model.refresh(purpose);
      expect_same_bits(model.forward(x),
                       ops::linear(x, parameter(model, "weight"), parameter(model, "bias"), Activation::relu));
    }
  }
}

TEST(Conv2d, IsTheOpWithItsOptions) {
  const NoGrad no_grad;
  const Tensor x = random_tensor({2, 7, 7, 3});
  Model model =
      model_of<Conv2d>(3, 5, 3, Conv2dLayerOptions{.stride = 2, .padding = 1, .activation = Activation::relu});
  randomize(model, 4);
  model.refresh(Purpose::training);
  expect_same_bits(model.forward(x), ops::conv2d(x, parameter(model, "weight"), parameter(model, "bias"),
                                                 {.stride = 2, .padding = 1, .activation = Activation::relu}));
}

TEST(Conv2d, HasNoBiasIfNoneIsWanted) {
  const NoGrad no_grad;
  const Tensor x = random_tensor({2, 7, 7, 3});
  const Model model = model_of<Conv2d>(3, 5, 3, Conv2dLayerOptions{.bias = false});
  EXPECT_EQ(model.layout().segments().size(), 1u);
  expect_same_bits(model.forward(x), ops::conv2d(x, parameter(model, "weight")));
}

TEST(ConvReluPool, IsConvolutionReluAndPooling) {
  const NoGrad no_grad;
  const Tensor x = random_tensor({2, 9, 8, 3});
  Model model = model_of<ConvReluPool>(3, 5, 3, 1);
  randomize(model, 4);
  model.refresh(Purpose::training);
  const Tensor convolved = ops::conv2d(x, parameter(model, "weight"), parameter(model, "bias"), {.padding = 1});
  expect_same_bits(model.forward(x), ops::max_pool2d(ops::relu(convolved), 2, 2));
}

TEST(BatchNorm, BeginsAsTheIdentityInEvaluation) {
  const NoGrad no_grad;
  const Model model = model_of<BatchNorm>(4);
  const Tensor x = random_tensor({3, 2, 2, 4});
  expect_near(model.forward(x), x, 1e-5);
}

TEST(BatchNorm, UsesRunningStatisticsInEvaluationAndTheGroupsInTraining) {
  const NoGrad no_grad;
  Model model = model_of<BatchNorm>(4, Activation::relu);
  randomize(model, 4, 0.5F, 2);
  const Tensor x = random_tensor({70, 2, 2, 4});
  const auto p = [&](const char* name) { return parameter(model, name); };
  expect_same_bits(model.forward(x), ops::batch_norm_eval(x, p("scale"), p("shift"), p("mean"), p("variance"),
                                                          {.activation = Activation::relu}));
  expect_same_bits(model.forward(x, {.training = true}),
                   ops::batch_norm_train(x, p("scale"), p("shift"), {.activation = Activation::relu}));
}

TEST(BatchNorm, GathersMomentsWhereGradientsGo) {
  Model model = model_of<BatchNorm>(1);
  const Arena gradients(model.parameters().shared_layout());
  const auto gathered = [&](const char* name) {
    return gradients.view(*model.layout().find(std::string("layer.") + name)).item();
  };
  model.bind_gradients(gradients);
  const Tensor x = Tensor::from({1, 2, 3, 6}, {2, 2, 1, 1});  // mean 3, sum of squares 14
  for (int pass = 0; pass < 2; ++pass) {
    const Tensor y = model.forward(x, {.training = true});
    backward(y, Tensor::full(y.shape(), 1));
    EXPECT_NEAR(gathered("mean"), (pass + 1) * 2 * 3.0, 1e-5);
    EXPECT_NEAR(gathered("variance"), (pass + 1) * 2 * 14 / 3.0, 1e-5);
    EXPECT_NEAR(gathered("shift"), (pass + 1) * 4, 1e-5);
  }
  const NoGrad no_grad;
  model.forward(x, {.training = true});
  EXPECT_NEAR(gathered("mean"), 12, 1e-5);  // nothing more
}

TEST(Layers, WeightsBeginWithHesDeviationAndBiasesAtZero) {
  const auto deviation = [](const Model& model) {
    double squares = 0, sum = 0;
    const Tensor weight = parameter(model, "weight");
    for (const float value : weight.values()) {
      squares += double{value} * value;
      sum += value;
    }
    const auto count = static_cast<double>(weight.elements());
    EXPECT_NEAR(sum / count, 0, 4 * std::sqrt(squares / count / count));  // four standard errors
    EXPECT_EQ(*std::ranges::max_element(parameter(model, "bias").values()), 0);
    return std::sqrt(squares / count);
  };
  EXPECT_NEAR(deviation(model_of<Linear>(200, 100)), std::sqrt(2.0 / 200), 0.002);
  EXPECT_NEAR(deviation(model_of<Conv2d>(32, 64, 3)), std::sqrt(2.0 / 288), 0.002);
  EXPECT_NEAR(deviation(model_of<ConvReluPool>(32, 64, 3)), std::sqrt(2.0 / 288), 0.002);
}

}  // namespace
}  // namespace lockring::nn
