#include "nn/optimizer.h"

#include "tests/nn/toy_module.h"
#include "tests/support/allocation_counter.h"
#include "tests/support/errors.h"
#include "tests/support/tensors.h"

#include <gtest/gtest.h>

#include <cmath>
#include <thread>
#include <vector>

namespace lockring::nn {
namespace {

constexpr double kGradientScale = 0.25;
constexpr double kStatisticScale = 0.5;

double learning_rate(int step) { return 0.05 / step; }

void update_range(const Optimizer& optimizer, Arena& parameters, const Arena& gradient, int step, std::int64_t begin,
                  std::int64_t end) {
  optimizer.update(parameters.buffer().data(), {.begin = begin,
                                                .end = end,
                                                .gradient = gradient.buffer().data(),
                                                .gradient_scale = kGradientScale,
                                                .statistic_scale = kStatisticScale,
                                                .learning_rate = learning_rate(step),
                                                .step = step});
}

// One element's history in double precision, by the published formulas.
struct Reference {
  OptimizerOptions options;
  bool decays;
  double p, velocity = 0, m = 0, v = 0;

  void move(double g, int step) {
    const double lr = learning_rate(step);
    const double decay = decays ? options.weight_decay : 0;
    if (options.name == "adamw") {
      p *= 1 - lr * decay;
    } else {
      g += decay * p;
    }
    if (options.name == "sgd") {
      velocity = options.momentum * velocity + g;
      p -= lr * (options.nesterov ? g + options.momentum * velocity : velocity);
    } else {
      m = options.beta1 * m + (1 - options.beta1) * g;
      v = options.beta2 * v + (1 - options.beta2) * g * g;
      const double m_hat = m / (1 - std::pow(options.beta1, step));
      const double v_hat = v / (1 - std::pow(options.beta2, step));
      p -= lr * m_hat / (std::sqrt(v_hat) + options.epsilon);
    }
  }
};

std::vector<OptimizerOptions> variants() {
  return {{.name = "sgd"},
          {.name = "sgd", .weight_decay = 0.1},
          {.name = "sgd", .momentum = 0.9, .weight_decay = 0.1},
          {.name = "sgd", .momentum = 0.9, .nesterov = true, .weight_decay = 0.1},
          {.name = "adam", .weight_decay = 0.1},
          {.name = "adam", .beta1 = 0.8, .beta2 = 0.95, .epsilon = 0.1},
          {.name = "adamw", .weight_decay = 0.1}};
}

TEST(Optimizer, FollowsThePublishedFormulas) {
  const auto layout = toy_layout();
  for (const OptimizerOptions& options : variants()) {
    Arena parameters = random_arena(layout, 1);
    std::vector<Reference> references;
    for (const Segment& segment : layout->segments())
      for (const float p : parameters.view(segment).values())
        references.push_back({options, segment.kind == ParameterKind::weight, p});
    const auto optimizer = make_optimizer(options, parameters);
    for (int step = 1; step <= 4; ++step) {
      const Arena gradient = random_arena(layout, 10 + step);
      update_range(*optimizer, parameters, gradient, step, 0, layout->elements());
      auto reference = references.begin();
      for (const Segment& segment : layout->segments()) {
        const Tensor values = parameters.view(segment);
        const Tensor gradients = gradient.view(segment);
        for (std::int64_t i = 0; i < values.elements(); ++i, ++reference) {
          if (segment.kind == ParameterKind::statistic) {
            reference->p = 0.9 * reference->p + 0.1 * kStatisticScale * gradients.data()[i];
          } else {
            reference->move(kGradientScale * gradients.data()[i], step);
          }
          ASSERT_NEAR(values.data()[i], reference->p, 2e-6) << options.name << " " << segment.name << " " << i;
        }
      }
    }
  }
}

TEST(Optimizer, AStepOfAdamInNumbers) {
  // By hand: m_hat = g and v_hat = g^2 at the first step, so the step is lr * g / (|g| + epsilon).
  const auto layout = toy_layout();
  Arena parameters(layout);
  Arena gradient(layout);
  gradient.buffer().data()[0] = -0.4F;  // a mean of -0.1
  const auto optimizer = make_optimizer({.name = "adam", .epsilon = 0.1}, parameters);
  update_range(*optimizer, parameters, gradient, 1, 0, layout->elements());
  EXPECT_NEAR(parameters.buffer().data()[0], 0.05 * 0.1 / (0.1 + 0.1), 1e-8);
  EXPECT_EQ(parameters.buffer().data()[1], 0);
}

TEST(Optimizer, CutsAnywhereGiveTheSameBits) {
  const auto layout = toy_layout();
  for (OptimizerOptions options : variants()) {
    options.ema_decay = 0.9;
    Arena whole = random_arena(layout, 1);
    Arena cut = random_arena(layout, 1);
    const auto of_whole = make_optimizer(options, whole);
    const auto of_cut = make_optimizer(options, cut);
    Rng rng(3, RngStream::test);
    for (int step = 1; step <= 3; ++step) {
      const Arena gradient = random_arena(layout, 10 + step);
      update_range(*of_whole, whole, gradient, step, 0, layout->elements());
      for (std::int64_t begin = 0; begin < layout->elements();) {
        const std::int64_t end =
            std::min(begin + 16 * (1 + static_cast<std::int64_t>(rng.below(40))), layout->elements());
        update_range(*of_cut, cut, gradient, step, begin, end);
        begin = end;
      }
    }
    expect_same_bits(cut.buffer(), whole.buffer(), options.name);
    for (std::size_t i = 0; i < of_whole->state().size(); ++i)
      expect_same_bits(of_cut->state()[i].arena.buffer(), of_whole->state()[i].arena.buffer(),
                       of_whole->state()[i].name);
  }
}

TEST(Optimizer, ThreadsUpdateDisjointRangesAtOnce) {
  const auto layout = toy_layout();
  const Arena gradient = random_arena(layout, 2);
  Arena alone = random_arena(layout, 1);
  Arena shared = random_arena(layout, 1);
  const OptimizerOptions options{.name = "adamw", .weight_decay = 0.1, .ema_decay = 0.5};
  const auto of_alone = make_optimizer(options, alone);
  const auto of_shared = make_optimizer(options, shared);
  const std::int64_t middle = 4016;
  for (int step = 1; step <= 3; ++step) {
    update_range(*of_alone, alone, gradient, step, 0, layout->elements());
    std::thread other([&] { update_range(*of_shared, shared, gradient, step, 0, middle); });
    update_range(*of_shared, shared, gradient, step, middle, layout->elements());
    other.join();
  }
  expect_same_bits(shared.buffer(), alone.buffer());
  expect_same_bits(of_shared->ema().buffer(), of_alone->ema().buffer());
}

TEST(Optimizer, AveragesTheParametersFromTheStart) {
  const auto layout = toy_layout();
  Arena parameters = random_arena(layout, 1);
  const auto optimizer = make_optimizer({.name = "sgd", .ema_decay = 0.3}, parameters);
  expect_same_bits(optimizer->ema().buffer(), parameters.buffer());
  std::vector<double> expected(parameters.buffer().values().begin(), parameters.buffer().values().end());
  for (int step = 1; step <= 3; ++step) {
    update_range(*optimizer, parameters, random_arena(layout, 10 + step), step, 0, layout->elements());
    const double decay = std::vector{2 / 11.0, 3 / 12.0, 0.3}[static_cast<std::size_t>(step - 1)];
    for (std::size_t i = 0; i < expected.size(); ++i) {
      expected[i] = decay * expected[i] + (1 - decay) * parameters.buffer().values()[i];
      ASSERT_NEAR(optimizer->ema().buffer().values()[i], expected[i], 2e-6) << "step " << step << " element " << i;
    }
  }
}

TEST(Optimizer, NamesItsState) {
  const Arena parameters(toy_layout());
  const auto names = [&](const OptimizerOptions& options) {
    std::vector<std::string> found;
    const auto optimizer = make_optimizer(options, parameters);
    for (const NamedArena& state : optimizer->state()) found.push_back(state.name);
    return found;
  };
  EXPECT_EQ(names({.name = "sgd"}), std::vector<std::string>{});
  EXPECT_EQ(names({.name = "sgd", .momentum = 0.9}), std::vector<std::string>{"momentum"});
  EXPECT_EQ(names({.name = "adamw", .ema_decay = 0.9}), (std::vector<std::string>{"ema", "adam_m", "adam_v"}));
}

TEST(Optimizer, AllocatesNothingInAStep) {
  Arena parameters = random_arena(toy_layout(), 1);
  const Arena gradient = random_arena(parameters.shared_layout(), 2);
  const auto optimizer = make_optimizer({.name = "adam", .ema_decay = 0.9}, parameters);
  const AllocationCounter counter;
  update_range(*optimizer, parameters, gradient, 1, 0, parameters.layout().elements());
  EXPECT_EQ(counter.count(), 0);
}

TEST(Optimizer, RefusesUnknownNamesAndOptionsOutOfRange) {
  const Arena parameters(toy_layout());
  const auto expect_refused = [&](std::string_view part, const OptimizerOptions& options) {
    expect_error(ErrorCode::usage, part, [&] { make_optimizer(options, parameters); });
  };
  expect_refused("'adamq' (did you mean 'adam", {.name = "adamq"});
  expect_refused("sgd, adam, adamw", {.name = "lion"});
  expect_refused("momentum", {.momentum = 1});
  expect_refused("nesterov", {.nesterov = true});
  expect_refused("beta2", {.name = "adam", .beta2 = -0.1});
  expect_refused("epsilon", {.name = "adam", .epsilon = 0});
  expect_refused("weight decay", {.weight_decay = NAN});
  expect_refused("averaged", {.ema_decay = 1});
}

}  // namespace
}  // namespace lockring::nn
