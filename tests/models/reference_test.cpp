// Every model against PyTorch in double precision; reference/README.md says what the stored numbers are.
#include "core/error.h"
#include "core/files.h"
#include "models/models.h"
#include "nn/model.h"
#include "nn/optimizer.h"
#include "ops/cross_entropy.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

namespace lockring::models {
namespace {

using Json = nlohmann::json;

constexpr std::uint32_t kImages = 1000;
constexpr std::uint32_t kProbes = 2000;

// The source tree's, unless the test was taken to another machine.
std::string references() {
  const char* elsewhere = std::getenv("LOCKRING_MODEL_REFERENCES");
  return elsewhere != nullptr ? elsewhere : LOCKRING_MODEL_REFERENCES;
}

double made_up(std::uint32_t stream, std::uint32_t i) {
  std::uint32_t h = i * 2654435761U + stream * 40503U + 1;
  h ^= h >> 15;
  h *= 2246822519U;
  h ^= h >> 13;
  return (h >> 8) / 8388608.0 - 1;
}

// The parameter of this number and kind as the README makes it.
void fill_parameter(Tensor values, const std::string& kind, std::uint32_t number) {
  const std::int64_t fan_in = values.elements() / values.size(0);
  const double range = kind == "weight" ? std::sqrt(6.0 / static_cast<double>(fan_in)) : 0.1;
  const double middle = kind == "scale" || kind == "variance" ? 1 : 0;
  for (std::uint32_t i = 0; float& value : values.values())
    value = static_cast<float>(middle + range * made_up(number, i++));
}

Tensor made_up_images(std::int64_t count) {
  Tensor images = Tensor::empty({count, 28, 28, 1});
  for (std::uint32_t i = 0; float& pixel : images.values()) pixel = static_cast<float>((made_up(kImages, i++) + 1) / 2);
  return images;
}

Tensor labels(std::int64_t count) {
  Tensor labels = Tensor::empty({count}, DType::i32);
  for (std::int32_t j = 0; j < count; ++j) labels.data<std::int32_t>()[j] = 3 * j % 10;
  return labels;
}

nn::ParameterKind kind_of(const std::string& kind) {
  if (kind == "weight") return nn::ParameterKind::weight;
  return kind == "mean" || kind == "variance" ? nn::ParameterKind::statistic : nn::ParameterKind::bias;
}

// PyTorch's own single precision stays within these bounds. `scale` divides sums over the batch.
void expect_fingerprint(const Tensor& tensor, double scale, std::uint32_t number, const Json& expected,
                        const std::string& what) {
  double squares = 0, sum = 0, probe = 0;
  for (std::uint32_t i = 0; const float element : tensor.values()) {
    const double value = scale * element;
    squares += value * value;
    sum += value;
    probe += value * made_up(kProbes + number, i++);
  }
  const double norm = expected.at("norm");
  const double bound = 2e-5 * norm + 5e-6;
  EXPECT_NEAR(std::sqrt(squares), norm, bound) << what;
  EXPECT_NEAR(sum, expected.at("sum").get<double>(), 2e-4 * norm + 5e-6) << what;
  EXPECT_NEAR(probe, expected.at("probe").get<double>(), bound) << what;
  const Json& first = expected.at("first");
  ASSERT_EQ(std::ssize(first), std::min<std::int64_t>(tensor.elements(), 8)) << what;
  for (std::size_t i = 0; i < first.size(); ++i)
    EXPECT_NEAR(scale * tensor.values()[i], first[i].get<double>(), bound) << what << " element " << i;
}

class ReferenceTest : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    const std::vector<nn::Segment>& segments = model_.layout().segments();
    const Json& parameters = reference_.at("parameters");
    ASSERT_EQ(segments.size(), parameters.size());
    for (std::size_t i = 0; i < segments.size(); ++i)
      fill_parameter(model_.parameters().view(segments[i]), parameters[i].at("kind"), static_cast<std::uint32_t>(i));
    model_.refresh(nn::Purpose::training);
  }

  std::int64_t batch_size() const { return reference_.at("batch_size"); }
  // The reference's dropout is off in training, ours where nothing trains; batch norm needs to train. No model has
  // both.
  nn::Context context() const {
    const auto is_statistic = [](const nn::Segment& s) { return s.kind == nn::ParameterKind::statistic; };
    return {.training = std::ranges::any_of(model_.layout().segments(), is_statistic)};
  }

  // The mean loss; sums over the batch are then in gradients_.
  double forward_and_backward(double label_smoothing) {
    model_.bind_gradients(gradients_);
    const Tensor logits = model_.forward(made_up_images(batch_size()), context());
    const Tensor loss = ops::cross_entropy(logits, labels(batch_size()), static_cast<float>(label_smoothing));
    backward(loss);
    model_.complete_gradients();
    return double{loss.item()} / static_cast<double>(batch_size());
  }

  void expect_fingerprints(const nn::Arena& arena, double scale, const Json& expected) const {
    const std::vector<nn::Segment>& segments = model_.layout().segments();
    ASSERT_EQ(segments.size(), expected.size());
    for (std::size_t i = 0; i < segments.size(); ++i)
      expect_fingerprint(arena.view(segments[i]), scale, static_cast<std::uint32_t>(i), expected[i], segments[i].name);
  }

  const Json reference_ = Json::parse(read_file(references() + "/" + GetParam() + ".json"));
  nn::Model model_{find_architecture(GetParam()).build({}), 0};
  nn::Arena gradients_{model_.parameters().shared_layout()};
};

TEST_P(ReferenceTest, Parameters) {
  std::int64_t trainable = 0;
  for (std::size_t i = 0; const nn::Segment& segment : model_.layout().segments()) {
    const Json& expected = reference_.at("parameters")[i++];
    const std::string kind = expected.at("kind");
    const std::vector<std::int64_t> sizes = expected.at("shape");
    EXPECT_EQ(to_string(segment.shape), to_string(Shape(std::span(sizes)))) << segment.name;
    EXPECT_EQ(segment.kind, kind_of(kind)) << segment.name;
    EXPECT_TRUE(segment.name.ends_with("." + kind)) << segment.name << " is a " << kind;
    if (kind_of(kind) != nn::ParameterKind::statistic) trainable += Shape(std::span(sizes)).elements();
  }
  EXPECT_EQ(model_.layout().trainable(), trainable);
}

TEST_P(ReferenceTest, Logits) {
  const NoGrad no_grad;
  for (const nn::Purpose purpose : {nn::Purpose::training, nn::Purpose::inference}) {
    model_.refresh(purpose);
    const Tensor logits = model_.forward(made_up_images(4));
    const std::vector<std::vector<double>> expected = reference_.at("logits");
    for (std::int64_t i = 0; i < 4; ++i) {
      const auto [least, most] = std::ranges::minmax(expected[i]);
      const double large = std::max(-least, most);
      for (std::int64_t j = 0; j < 10; ++j)
        EXPECT_NEAR(logits.data()[10 * i + j], expected[i][j],
                    std::max(5e-6 * std::max(1.0, std::abs(expected[i][j])), 1e-6 * large))
            << "image " << i << " class " << j;
    }
  }
}

TEST_P(ReferenceTest, LossAndGradients) {
  ASSERT_EQ(reference_.at("training").size(), 2u);
  for (const Json& expected : reference_.at("training")) {
    const testing::ScopedTrace trace(__FILE__, __LINE__, "smoothing " + expected.at("label_smoothing").dump());
    const double loss = forward_and_backward(expected.at("label_smoothing"));
    EXPECT_NEAR(loss, expected.at("loss").get<double>(), 5e-6);
    expect_fingerprints(gradients_, 1 / static_cast<double>(batch_size()), expected.at("gradients"));
  }
}

std::string name_of(const testing::TestParamInfo<std::string>& info) { return info.param; }

std::vector<std::string> all_names() {
  std::vector<std::string> names;
  for (const Architecture& architecture : architectures()) names.emplace_back(architecture.name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(, ReferenceTest, testing::ValuesIn(all_names()), name_of);

// For the models whose references hold steps of optimizers.
class ReferenceStepsTest : public ReferenceTest {
 protected:
  // One update of the whole arena in two ranges, as two replicas make it.
  void update(const nn::Optimizer& optimizer, double learning_rate, std::int64_t step) {
    const double mean = 1 / static_cast<double>(batch_size());
    const std::int64_t elements = model_.layout().elements();
    const std::int64_t middle = elements / 32 * 16;
    for (const std::int64_t begin : {std::int64_t{0}, middle})
      optimizer.update(model_.parameters().buffer().data(), {.begin = begin,
                                                             .end = begin == 0 ? middle : elements,
                                                             .gradient = gradients_.buffer().data(),
                                                             .gradient_scale = mean,
                                                             .statistic_scale = mean,
                                                             .learning_rate = learning_rate,
                                                             .step = step});
    model_.refresh(nn::Purpose::training);
  }
};

TEST_P(ReferenceStepsTest, ThreeStepsOfEachOptimizer) {
  ASSERT_FALSE(reference_.at("optimizers").empty());
  for (const Json& expected : reference_.at("optimizers")) {
    const testing::ScopedTrace trace(__FILE__, __LINE__, expected.at("name").get<std::string>());
    SetUp();
    const auto optimizer = nn::make_optimizer({.name = expected.at("name"),
                                               .momentum = expected.at("momentum"),
                                               .nesterov = expected.at("nesterov"),
                                               .weight_decay = expected.at("weight_decay")},
                                              model_.parameters());
    for (int step = 1; step <= 3; ++step) {
      EXPECT_NEAR(forward_and_backward(0), expected.at("losses")[step - 1].get<double>(), 5e-6) << "step " << step;
      update(*optimizer, expected.at("learning_rate"), step);
    }
    expect_fingerprints(model_.parameters(), 1, expected.at("parameters"));
  }
}

INSTANTIATE_TEST_SUITE_P(, ReferenceStepsTest, testing::Values("cnn", "cnn_bn"), name_of);

}  // namespace
}  // namespace lockring::models
