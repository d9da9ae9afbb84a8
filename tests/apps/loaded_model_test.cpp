#include "apps/loaded_model.h"

#include "apps/evaluation.h"
#include "core/allocator.h"
#include "core/files.h"
#include "tests/apps/small_bundle.h"
#include "tests/support/errors.h"
#include "tests/support/tensors.h"

#include <cmath>

namespace lockring::app {
namespace {

class LoadedModelTest : public SmallBundleTest {
 protected:
  void expect_refused(std::string_view part) const {
    expect_error(ErrorCode::data, part, [&] { load_model(bundle_); });
  }
};

TEST_F(LoadedModelTest, ComputesWhatWasSaved) {
  const LoadedModel loaded = load_model(bundle_);
  EXPECT_EQ(loaded.path, bundle_);
  EXPECT_EQ(loaded.info.architecture, "mlp");
  EXPECT_EQ(loaded.images, (models::ImageSpec{6, 5, 1, 10}));
  EXPECT_EQ(loaded.golden_difference, 0);
  const nn::Bundle bundle = nn::load_bundle(bundle_);
  const Tensor logits = logits_of(*loaded.model, loaded.transform, dataset().test.images->copy(0, 20));
  EXPECT_EQ(logits.shape(), (Shape{20, 10}));
  expect_same_bits(logits.slice(0, 1).view({10}), bundle.golden.logits);
}

TEST_F(LoadedModelTest, RefusesFilesThatAreNotWhole) {
  expect_error(ErrorCode::data, "nowhere", [&] { load_model(directory_ / "nowhere"); });
  std::filesystem::resize_file(bundle_, std::filesystem::file_size(bundle_) / 2);
  expect_refused("model.safetensors");
}

TEST_F(LoadedModelTest, RefusesAnotherArchitecture) {
  rewrite([](nn::TensorFile& file) { file.metadata["architecture"] = "mlpp"; });
  expect_refused("there is no model 'mlpp' (did you mean 'mlp'?)");
  rewrite([](nn::TensorFile& file) { file.metadata["architecture"] = "lenet"; });
  expect_refused("model.safetensors: ");
}

TEST_F(LoadedModelTest, RefusesParametersOfOtherSizes) {
  rewrite([](nn::TensorFile& file) { file.tensors[0].tensor = Tensor::zeros({512, 31}); });
  expect_refused("expected dense1.weight to be F32 [512, 30], found F32 [512, 31]");
}

TEST_F(LoadedModelTest, RefusesATransformThatDoesNotFit) {
  rewrite([](nn::TensorFile& file) { file.metadata["transform"] = "normalise"; });
  expect_refused("model.safetensors: ");
  rewrite([](nn::TensorFile& file) { file.metadata["transform"] = "normalize:0/0/0:1/1/1"; });
  expect_refused("numbers for 1 channels, found 3");
}

// It would make images of any size of those that the model is given.
TEST_F(LoadedModelTest, RefusesATransformToAnotherSize) {
  rewrite([](nn::TensorFile& file) { file.metadata["transform"] = "resize:60000"; });
  expect_refused("the transform 'resize:60000x60000' makes images of [60000, 60000, 1], the model takes [6, 5, 1]");
  save();
  rewrite([](nn::TensorFile& file) { file.metadata["transform"] += ",resize:6x5"; });
  EXPECT_EQ(load_model(bundle_).transform.front().width, 5);
}

TEST_F(LoadedModelTest, RefusesClassesThatCannotBePrinted) {
  for (const char* first : {"", "a\\nb", "\\u001b[2J", "1"}) {
    rewrite([&](nn::TensorFile& file) {
      file.metadata["classes"] = fmt::format(R"(["{}","1","2","3","4","5","6","7","8","9"])", first);
    });
    expect_refused("damaged bundle: class ");
  }
}

// An image of 4 MB would make a layer of 8 GB.
TEST_F(LoadedModelTest, TakesNoMemoryForAnotherArchitecture) {
  rewrite([](nn::TensorFile& file) {
    file.metadata["input.shape"] = "[2000,2000,1]";
    for (nn::NamedTensor& entry : file.tensors)
      if (entry.name == "golden.image") entry.tensor = Tensor::zeros({2000, 2000, 1}, DType::u8);
  });
  const std::int64_t before = allocator_stats().system_bytes;
  expect_refused("expected dense1.weight to be F32 [512, 4000000], found F32 [512, 30]");
  EXPECT_LT(allocator_stats().system_bytes - before, 64 << 20);
}

TEST_F(LoadedModelTest, RefusesOtherInputsThanImages) {
  rewrite([](nn::TensorFile& file) {
    file.metadata["input.shape"] = "[30]";
    for (nn::NamedTensor& entry : file.tensors)
      if (entry.name == "golden.image") entry.tensor = entry.tensor.view({30});
  });
  expect_refused("expected a model that tells classes of images");
}

// Adds to one element of the last layer's bias, which comes out in one logit.
void add_to_bias(nn::TensorFile& file, float value) {
  for (nn::NamedTensor& entry : file.tensors)
    if (entry.name == "dense2.bias") entry.tensor.data()[3] += value;
}

TEST_F(LoadedModelTest, FindsDamagedParameters) {
  rewrite([](nn::TensorFile& file) { add_to_bias(file, 0.01F); });
  expect_refused("its answer to the sample it holds differs");
  rewrite([](nn::TensorFile& file) { add_to_bias(file, NAN); });
  expect_refused("its answer to the sample it holds differs");
}

TEST_F(LoadedModelTest, TellsRoundingFromDamage) {
  rewrite([](nn::TensorFile& file) { add_to_bias(file, 1e-6F); });
  const LoadedModel loaded = load_model(bundle_);
  EXPECT_GT(loaded.golden_difference, 0);
  EXPECT_LT(loaded.golden_difference, 1e-4);
}

TEST_F(LoadedModelTest, KnowsWhatDataItIsFor) {
  const LoadedModel loaded = load_model(bundle_);
  data::Dataset data = dataset();
  check_suits(loaded, data);
  data.classes.pop_back();
  expect_error(ErrorCode::data, "is for images of 6 x 5 x 1 in 10 classes; those of small are 6 x 5 x 1 in 9 classes",
               [&] { check_suits(loaded, data); });
  data = dataset();
  data.test.images = data::in_memory(data.test.images->copy(0, 20).view({20, 5, 6, 1}));
  expect_error(ErrorCode::data, "those of small are 5 x 6 x 1", [&] { check_suits(loaded, data); });
}

}  // namespace
}  // namespace lockring::app
