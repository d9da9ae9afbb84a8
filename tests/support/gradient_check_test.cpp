#include "tests/support/gradient_check.h"

#include "core/autograd.h"
#include "tests/support/tensors.h"

#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include <string>

namespace lockring {
namespace {

// y = x0 * x1 + x0, whose gradient each test below gets wrong in a way of its own.
enum class Mistake { none, factor, forgotten_input, overwrites, writes_incoming, needs_both };

void gradient(Mistake mistake, const Tensor& a, const Tensor& b, const Tensor& dy, GradTargets to) {
  const auto write = [&](const GradTarget& target, auto value) {
    auto [memory, accumulate] = target.slot();
    for (std::int64_t i = 0; i < memory.elements(); ++i)
      memory.data()[i] = (accumulate && mistake != Mistake::overwrites ? memory.data()[i] : 0) + value(i);
  };
  if (mistake == Mistake::needs_both && !(to[0].wanted() && to[1].wanted())) return;
  if (to[0].wanted()) write(to[0], [&](auto i) { return dy.data()[i] * (b.data()[i] + 1); });
  const float factor = mistake == Mistake::factor ? 1.1F : 1;
  if (to[1].wanted() && mistake != Mistake::forgotten_input)
    write(to[1], [&](auto i) { return dy.data()[i] * a.data()[i] * factor; });
  if (mistake == Mistake::writes_incoming) static_cast<float*>(dy.raw())[0] += 1;
}

TensorFunction function(Mistake mistake) {
  return [mistake](std::span<const Tensor> x) {
    Tensor y = Tensor::empty(x[0].shape());
    for (std::int64_t i = 0; i < y.elements(); ++i) y.data()[i] = x[0].data()[i] * (x[1].data()[i] + 1);
    if (needs_gradient(x[0], x[1]))
      record(y, {&x[0], &x[1]}, [mistake, a = x[0].detach(), b = x[1].detach()](const Tensor& dy, GradTargets to) {
        gradient(mistake, a, b, dy, to);
      });
    return y;
  };
}

// What check_gradients says of a mistake; "" if nothing.
std::string verdict(Mistake mistake) {
  testing::TestPartResultArray results;
  {
    const testing::ScopedFakeTestPartResultReporter reporter(
        testing::ScopedFakeTestPartResultReporter::INTERCEPT_ONLY_CURRENT_THREAD, &results);
    check_gradients(function(mistake), {random_tensor({2, 3}), random_tensor({2, 3}, 2)});
  }
  std::string text;
  for (int i = 0; i < results.size(); ++i) text += results.GetTestPartResult(i).message();
  return text;
}

TEST(GradientCheck, AcceptsACorrectGradient) {
  EXPECT_EQ(verdict(Mistake::none), "");
  EXPECT_EQ(live_nodes(), 0);
}

void expect_verdict(Mistake mistake, const std::string& part) {
  EXPECT_PRED_FORMAT2(testing::IsSubstring, part, verdict(mistake));
}

TEST(GradientCheck, NamesWhatIsWrong) {
  expect_verdict(Mistake::factor, "element 0 of input 1, of shape [2, 3]");
  expect_verdict(Mistake::forgotten_input, "element 0 of input 1, of shape [2, 3]");
  expect_verdict(Mistake::overwrites, "the gradient after two passes");
  expect_verdict(Mistake::writes_incoming, "the incoming gradient after backward");
  expect_verdict(Mistake::needs_both, "the gradient of this input alone");
}

}  // namespace
}  // namespace lockring
