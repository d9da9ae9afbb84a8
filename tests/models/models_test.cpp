#include "models/models.h"

#include "core/error.h"
#include "nn/batch_norm.h"
#include "nn/model.h"
#include "tests/support/errors.h"
#include "tests/support/tensors.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace lockring::models {
namespace {

bool has_batch_norm(const nn::Model& model) {
  return std::ranges::any_of(model.layout().segments(),
                             [](const nn::Segment& s) { return s.kind == nn::ParameterKind::statistic; });
}

TEST(Models, TableHasARowForEachName) {
  std::vector<std::string> names;
  for (const Architecture& architecture : architectures()) {
    names.emplace_back(architecture.name);
    EXPECT_FALSE(architecture.purpose.empty()) << architecture.name;
    EXPECT_EQ(&find_architecture(architecture.name), &architecture);
  }
  for (const char* name : {"mlp", "cnn", "cnn_bn", "cnn_dropout", "lenet", "resnet", "resnet_wide", "resnet_deep"})
    EXPECT_EQ(std::ranges::count(names, name), 1) << name;
  EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(), names.size());
}

TEST(Models, AnUnknownNameSuggestsTheNearest) {
  expect_error(ErrorCode::usage, "there is no model 'cnn_bm' (did you mean 'cnn_bn'",
               [] { find_architecture("cnn_bm"); });
  expect_error(ErrorCode::usage, "there are mlp, cnn, cnn_bn, cnn_dropout, lenet, resnet, resnet_wide, resnet_deep",
               [] { find_architecture("transformer"); });
  expect_error(ErrorCode::usage, "there is no model ''", [] { find_architecture(""); });
}

TEST(Models, MultiplyAddsAreThoseCountedByHand) {
  const auto all = [](const char* name) { return multiply_adds(find_architecture(name)); };
  const auto first = [](const char* name) { return first_layer_multiply_adds(find_architecture(name)); };
  EXPECT_EQ(all("mlp"), 784 * 512 + 512 * 10);
  EXPECT_EQ(first("mlp"), 784 * 512);
  constexpr std::int64_t kCnn = 26 * 26 * 32 * 9 + 11 * 11 * 64 * 288 + 3 * 3 * 64 * 576 + 576 * 64 + 64 * 10;
  EXPECT_EQ(kCnn, 2794240);
  for (const char* name : {"cnn", "cnn_bn", "cnn_dropout"}) {
    EXPECT_EQ(all(name), kCnn) << name;
    EXPECT_EQ(first(name), 26 * 26 * 32 * 9) << name;
  }
  EXPECT_EQ(all("lenet"), 28 * 28 * 6 * 25 + 10 * 10 * 16 * 150 + 400 * 120 + 120 * 84 + 84 * 10);
  EXPECT_EQ(first("lenet"), 28 * 28 * 6 * 25);
  EXPECT_EQ(all("resnet"), 28 * 28 * 16 * 9 + 14 * 14 * 32 * (144 + 288 + 288) + 7 * 7 * 64 * (288 + 576 + 576) + 640);
  EXPECT_EQ(first("resnet"), 28 * 28 * 16 * 9);
  EXPECT_EQ(all("resnet_wide"),
            28 * 28 * 32 * 9 + 14 * 14 * 64 * (288 + 576 + 576) + 7 * 7 * 128 * (576 + 1152 + 1152) + 1280);
  EXPECT_EQ(all("resnet_deep"),
            28 * 28 * 16 * (9 + 4 * 144) + 14 * 14 * 64 * (144 + 576 + 576) + 7 * 7 * 128 * (576 + 1152 + 1152) + 1280);
}

TEST(Models, CountOtherImagesToo) {
  EXPECT_EQ(multiply_adds(find_architecture("mlp"), {32, 32, 3, 100}), 3072 * 512 + 512 * 100);
  EXPECT_EQ(first_layer_multiply_adds(find_architecture("cnn"), {32, 32, 3, 10}), 30 * 30 * 32 * 27);
}

TEST(Models, TakeImagesOfOtherSizes) {
  const NoGrad no_grad;
  for (const Architecture& architecture : architectures()) {
    for (const ImageSpec images : {ImageSpec{32, 32, 3, 100}, ImageSpec{28, 40, 1, 2}}) {
      const nn::Model model(architecture.build(images), 1);
      const Tensor logits = model.forward(random_tensor({2, images.height, images.width, images.channels}));
      EXPECT_EQ(to_string(logits.shape()), to_string(Shape{2, images.classes})) << architecture.name;
    }
  }
}

// Smaller by one pixel than what a model still takes.
void expect_smallest(const char* name, std::int64_t side) {
  const testing::ScopedTrace trace(__FILE__, __LINE__, name);
  const NoGrad no_grad;
  const nn::Model model(find_architecture(name).build({side, side, 1, 10}), 1);
  EXPECT_EQ(model.forward(random_tensor({1, side, side, 1})).size(1), 10);
  const auto expect_too_small = [&](std::int64_t height, std::int64_t width) {
    expect_error(ErrorCode::usage, "too small", [&] { find_architecture(name).build({height, width, 1, 10}); });
  };
  expect_too_small(side - 1, side);
  expect_too_small(side, side - 1);
  expect_too_small(-28, 28);
}

TEST(Models, RefuseImagesThatAreTooSmall) {
  expect_smallest("mlp", 1);
  expect_smallest("cnn", 18);
  expect_smallest("cnn_bn", 18);
  expect_smallest("cnn_dropout", 18);
  expect_smallest("lenet", 12);
  expect_smallest("resnet", 4);
  expect_smallest("resnet_wide", 4);
  expect_smallest("resnet_deep", 4);
}

TEST(Models, RefuseNoChannelsAndNoClasses) {
  for (const Architecture& architecture : architectures()) {
    expect_error(ErrorCode::usage, "0 channels", [&] { architecture.build({28, 28, 0, 10}); });
    expect_error(ErrorCode::usage, "0 classes", [&] { architecture.build({28, 28, 1, 0}); });
  }
}

class ModelTest : public testing::TestWithParam<Architecture> {
 protected:
  static nn::Model make(std::uint64_t seed = 1) { return {GetParam().build({}), seed}; }
};

INSTANTIATE_TEST_SUITE_P(, ModelTest, testing::ValuesIn(architectures()),
                         [](const auto& info) { return std::string(info.param.name); });

TEST_P(ModelTest, MicroBatchesHoldWholeGroupsOfBatchNorm) {
  EXPECT_GE(GetParam().micro_batch, 0);
  const nn::Model model = make();
  if (has_batch_norm(model)) {
    EXPECT_EQ(GetParam().micro_batch % nn::kBatchNormGroup, 0);
  }
}

TEST_P(ModelTest, TheSeedMakesTheParameters) {
  const nn::Model model = make(7);
  expect_same_bits(make(7).parameters().buffer(), model.parameters().buffer());
  const nn::Model other = make(8);
  for (const nn::Segment& segment : model.layout().segments()) {
    if (segment.kind != nn::ParameterKind::weight) continue;
    const Tensor weights = model.parameters().view(segment);
    const Tensor others = other.parameters().view(segment);
    EXPECT_FALSE(std::ranges::equal(weights.values(), others.values())) << segment.name;
  }
}

TEST_P(ModelTest, AReplicaOnTheSameParametersGivesTheSameBits) {
  const NoGrad no_grad;
  nn::Model model = make();
  nn::Model replica(GetParam().build({}), model.parameters());
  const Tensor x = random_tensor({3, 28, 28, 1});
  const nn::Context training{.training = true, .seed = 5};
  expect_same_bits(replica.forward(x), model.forward(x));
  expect_same_bits(replica.forward(x, training), model.forward(x, training));
  for (float& value : model.parameters().buffer().values()) value *= 1.5F;
  model.refresh(nn::Purpose::training);
  replica.refresh(nn::Purpose::inference);
  expect_same_bits(replica.forward(x), model.forward(x));
}

TEST_P(ModelTest, LogitsOfAnImageDoNotDependOnItsBatch) {
  const NoGrad no_grad;
  const nn::Model model = make();
  const Tensor x = random_tensor({128, 28, 28, 1}, 2, 0, 1);
  const Tensor logits = model.forward(x);
  for (const std::int64_t i : {0, 1, 77, 127})
    expect_same_bits(model.forward(x.slice(i, i + 1)), logits.slice(i, i + 1));
  expect_same_bits(model.forward(x.slice(60, 67)), logits.slice(60, 67));
}

// Dropout draws by the sample's number, batch norm by whole groups.
TEST_P(ModelTest, InTrainingMicroBatchesChangeNoLogits) {
  const NoGrad no_grad;
  const nn::Model model = make();
  const Tensor x = random_tensor({64, 28, 28, 1}, 2, 0, 1);
  const auto context = [](std::int64_t first) {
    return nn::Context{.training = true, .seed = 3, .step = 9, .first_sample = first};
  };
  const Tensor logits = model.forward(x, context(100));
  const std::int64_t size = has_batch_norm(model) ? nn::kBatchNormGroup : 16;
  for (std::int64_t begin = 0; begin < 64; begin += size)
    expect_same_bits(model.forward(x.slice(begin, begin + size), context(100 + begin)),
                     logits.slice(begin, begin + size));
}

}  // namespace
}  // namespace lockring::models
