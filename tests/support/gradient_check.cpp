#include "tests/support/gradient_check.h"

#include "core/autograd.h"
#include "tests/support/tensors.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <optional>

namespace lockring {
namespace {

double weighted_sum(const Tensor& output, const Tensor& weights) {
  const Tensor values = on_cpu(output);
  double sum = 0;
  for (std::int64_t i = 0; i < values.elements(); ++i) sum += double{values.data()[i]} * weights.data()[i];
  return sum;
}

// The gradients, on the CPU, of the inputs (of the one numbered `only`, if given) after `passes` backward passes; zero
// where none arrives.
std::vector<Tensor> recorded_gradients(const TensorFunction& f, std::span<const Tensor> inputs, const Tensor& weights,
                                       int passes = 1, std::optional<std::size_t> only = {}) {
  std::deque<Leaf> leaves;
  std::vector<Tensor> arguments;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    leaves.emplace_back(inputs[i].clone());
    arguments.push_back(!only || *only == i ? leaves.back().tensor() : inputs[i]);
  }
  for (int pass = 0; pass < passes; ++pass) {
    const Tensor output = f(arguments);
    const Tensor gradient = weights.clone().to(output.device());
    backward(output, gradient);
    expect_same_bits(gradient, weights, "the incoming gradient after backward");
  }
  std::vector<Tensor> gradients;
  for (const Leaf& leaf : leaves)
    gradients.push_back(leaf.has_gradient() ? on_cpu(leaf.grad()) : Tensor::zeros(leaf.tensor().shape()));
  return gradients;
}

// Inputs move in float, so the distance that was really moved divides the difference.
double numeric_derivative(const TensorFunction& f, std::span<Tensor> inputs, std::size_t input, std::int64_t element,
                          const Tensor& weights, double step) {
  const NoGrad no_grad;
  Tensor moved = on_cpu(inputs[input]);
  const float before = moved.data()[element];
  const auto sum_at = [&](float value) {
    moved.data()[element] = value;
    if (inputs[input].device() != Device{}) inputs[input].copy_from(moved);
    return weighted_sum(f(inputs), weights);
  };
  const auto above = static_cast<float>(before + step);
  const auto below = static_cast<float>(before - step);
  const double sum_above = sum_at(above);
  const double sum_below = sum_at(below);
  moved.data()[element] = before;
  if (inputs[input].device() != Device{}) inputs[input].copy_from(moved);
  return (sum_above - sum_below) / (double{above} - double{below});
}

void compare(const TensorFunction& f, std::span<Tensor> inputs, std::size_t input, const Tensor& weights,
             const Tensor& gradient, GradientCheckOptions options) {
  for (std::int64_t i = 0; i < inputs[input].elements(); ++i) {
    const double recorded = gradient.data()[i];
    const double numeric = numeric_derivative(f, inputs, input, i, weights, options.step);
    const double scale = std::max({1.0, std::abs(numeric), std::abs(recorded)});
    ASSERT_NEAR(recorded, numeric, options.tolerance * scale)
        << "element " << i << " of input " << input << ", of shape " << to_string(inputs[input].shape());
  }
}

}  // namespace

void check_gradients(const TensorFunction& f, std::vector<Tensor> inputs, GradientCheckOptions options,
                     const char* file, int line) {
  const testing::ScopedTrace trace(file, line, "check_gradients");
  for (Tensor& input : inputs) input = input.clone();
  const Shape output_shape = [&] {
    const NoGrad no_grad;
    return f(inputs).shape();
  }();
  const Tensor weights = random_tensor(output_shape, 77);
  const std::vector<Tensor> gradients = recorded_gradients(f, inputs, weights);
  const std::vector<Tensor> twice = recorded_gradients(f, inputs, weights, 2);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    ASSERT_EQ(to_string(gradients[i].shape()), to_string(inputs[i].shape())) << "gradient of input " << i;
    compare(f, inputs, i, weights, gradients[i], options);
    const testing::ScopedTrace input_trace(file, line, "input " + std::to_string(i));
    expect_near(recorded_gradients(f, inputs, weights, 1, i)[i], gradients[i], 1e-6,
                "the gradient of this input alone");
    expect_near(twice[i], sum_of(gradients[i], gradients[i]), 1e-5, "the gradient after two passes");
  }
}

}  // namespace lockring
