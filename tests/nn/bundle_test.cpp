#include "nn/bundle.h"

#include "core/files.h"
#include "nn/optimizer.h"
#include "tests/nn/toy_module.h"
#include "tests/support/errors.h"
#include "tests/support/temporary_directory.h"
#include "tests/support/tensors.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <thread>

namespace lockring::nn {
namespace {

BundleInfo sample_info() {
  return {.program_version = "1.2.3",
          .architecture = "toy",
          .input_shape = {2, 2, 1},
          .transform = "normalize:0.2860:0.3530",
          .mean = {0.28604F},
          .deviation = {0.35302F},
          .classes = {"T-shirt/top", "a \"quoted\" name", "größe"},
          .metrics = {{"epoch", 7}, {"test_loss", 0.1}, {"val_accuracy", 0.9123456789012345}},
          .data_digest = "abc",
          .seed = 18446744073709551615U};
}

GoldenSample sample_golden() {
  const std::uint8_t pixels[] = {0, 1, 254, 255};
  return {Tensor::from<std::uint8_t>(pixels, {2, 2, 1}), Tensor::from({0.5F, -1, 2}, {3})};
}

class BundleTest : public testing::Test {
 protected:
  void save(const BundleInfo& info = sample_info()) { save_bundle(path_, info, parameters_, sample_golden()); }
  // The saved file with one thing changed.
  template <class Change>
  void rewrite(const Change& change) {
    TensorFile file = read_safetensors(path_);
    change(file);
    write_safetensors(path_, file);
  }
  void expect_refused(std::string_view part, int line = __builtin_LINE()) {
    expect_error(
        ErrorCode::data, part, [&] { load_bundle(path_); }, __FILE__, line);
    expect_error(
        ErrorCode::data, path_.string(), [&] { load_bundle(path_); }, __FILE__, line);
  }

  TemporaryDirectory directory_;
  std::filesystem::path path_ = directory_ / "toy.safetensors";
  std::shared_ptr<const ArenaLayout> layout_ = toy_layout();
  Arena parameters_ = random_arena(layout_, 1);
};

TEST_F(BundleTest, LoadsWhatWasSaved) {
  save();
  const Bundle bundle = load_bundle(path_);
  EXPECT_EQ(bundle.info, sample_info());
  expect_same_bits(bundle.golden.image, sample_golden().image);
  expect_same_bits(bundle.golden.logits, sample_golden().logits);
  EXPECT_TRUE(bundle.state.empty() && bundle.training.empty());
  Arena loaded(layout_);
  load_parameters(bundle, loaded);
  expect_same_bits(loaded.buffer(), parameters_.buffer());
}

TEST_F(BundleTest, SameContentSameBytes) {
  save();
  const std::string digest = bundle_digest(path_);
  save_bundle(directory_ / "other", sample_info(), parameters_, sample_golden());
  EXPECT_EQ(bundle_digest(directory_ / "other"), digest);
  BundleInfo info = sample_info();
  info.seed = 3;
  save(info);
  EXPECT_NE(bundle_digest(path_), digest);
}

TEST_F(BundleTest, KeepsMetricsThatAreNotFinite) {
  BundleInfo info = sample_info();
  info.metrics = {{"val_loss", NAN}, {"test_loss", INFINITY}};
  save(info);
  const auto metrics = load_bundle(path_).info.metrics;
  EXPECT_TRUE(std::isnan(metrics.at("val_loss")));
  EXPECT_EQ(metrics.at("test_loss"), INFINITY);
}

TEST_F(BundleTest, ParametersLoadInAnyOrder) {
  save();
  rewrite([](TensorFile& file) { std::ranges::reverse(file.tensors); });
  Arena loaded(layout_);
  load_parameters(load_bundle(path_), loaded);
  expect_same_bits(loaded.buffer(), parameters_.buffer());
}

TEST_F(BundleTest, RefusesParametersOfAnotherArchitecture) {
  save();
  const auto expect_mismatch = [&](std::string_view part, const std::shared_ptr<const ArenaLayout>& layout) {
    Arena arena = random_arena(layout, 2);
    expect_error(ErrorCode::data, part, [&] { load_parameters(load_bundle(path_), arena); });
    expect_same_bits(arena.buffer(), random_arena(layout, 2).buffer(), "unchanged");
  };
  expect_mismatch("from another architecture: expected a.weight to be F32 [50, 9], found F32 [50, 7]", toy_layout(9));
  rewrite([](TensorFile& file) { file.tensors[1].name = "a.offset"; });
  expect_mismatch("expected a.bias to be F32 [13], found nothing", layout_);
  rewrite([](TensorFile& file) { file.tensors.push_back({"a.bias", Tensor::zeros({13})}); });
  expect_mismatch("did not expect a.offset", layout_);
  save();
  rewrite([](TensorFile& file) { file.tensors[1].tensor = Tensor::zeros({13}, DType::i32); });
  expect_mismatch("found I32 [13]", layout_);
}

TEST_F(BundleTest, RefusesFilesThatAreNoBundle) {
  write_safetensors(path_, {.metadata = {{"format", "pt"}}, .tensors = {}});
  expect_refused("not a Lockring bundle");
  save();
  std::filesystem::resize_file(path_, std::filesystem::file_size(path_) - 1);
  expect_refused("bytes");
}

TEST_F(BundleTest, RefusesDamagedMetadata) {
  save();
  const TensorFile good = read_safetensors(path_);
  const auto expect_bad = [&](const char* key, std::initializer_list<const char*> values, std::string_view part) {
    for (const char* value : values) {
      TensorFile bad = good;
      bad.metadata[key] = value;
      write_safetensors(path_, bad);
      expect_refused(part);
    }
  };
  expect_bad("format_version", {"2"}, "expected a bundle of format version 1, found 2");
  expect_bad("format_version", {"", "1x", "99999999999"}, "format_version is not a number");
  expect_bad("layouts", {"NCHW/OIHW"}, "NHWC/OHWI");
  expect_bad("input.dtype", {"U9", ""}, "input.dtype");
  expect_bad("input.shape", {"", "7", "[]", "[2,-2,1]", "[2.0,2,1]", "[0,2,2]", "[1,1,1,1]", "[9999999999,1]", "[["},
             "input.shape is not a list of sizes");
  expect_bad("mean", {"[1e300]", "[null]", "[\"1\"]", "{}"}, "mean is not a list of numbers");
  expect_bad("classes", {"[1]", "\"a\"", "[\"a\""}, "classes is not a list of names");
  for (const char* key : {"program_version", "architecture", "input.name", "data_digest"})
    expect_bad(key, {"a\nb", "\x1b[2J", "\xc2\x9b"}, std::string(key) + " is not printable text");
  expect_bad("seed", {"-1", "1.5", "18446744073709551616"}, "seed is not a number");
  expect_bad("metric.epoch", {"", "high"}, "metric.epoch is not a number");
  expect_bad("input.shape", {"[2,1,2]"}, "expected golden.image to be U8 [2, 1, 2], found U8 [2, 2, 1]");
  expect_bad("classes", {"[\"a\"]"}, "expected golden.logits to be F32 [1], found F32 [3]");
  for (const auto& [key, value] : good.metadata) {
    if (key.starts_with("metric.")) continue;
    TensorFile bad = good;
    bad.metadata.erase(key);
    write_safetensors(path_, bad);
    expect_refused(key == "format" ? "not a Lockring bundle" : key);
  }
}

// Two runs of `steps` steps: one in one go, one saved and loaded in the middle.
TEST_F(BundleTest, ACheckpointContinuesBitForBit) {
  const OptimizerOptions options{.name = "adamw", .weight_decay = 0.1, .ema_decay = 0.9};
  const auto train = [&](Arena& parameters, const Optimizer& optimizer, int first, int last) {
    for (int step = first; step <= last; ++step)
      optimizer.update(parameters.buffer().data(), {.end = layout_->elements(),
                                                    .gradient = random_arena(layout_, 10 + step).buffer().data(),
                                                    .learning_rate = 0.1,
                                                    .step = step});
  };
  const auto whole = make_optimizer(options, parameters_);
  Arena expected = random_arena(layout_, 1);
  train(expected, *whole, 1, 5);

  const auto first_part = make_optimizer(options, parameters_);
  train(parameters_, *first_part, 1, 3);
  save_checkpoint(path_, sample_info(), parameters_, sample_golden(),
                  {.arenas = first_part->state(), .values = {{"step", "3"}}});

  const Bundle checkpoint = load_bundle(path_);
  EXPECT_EQ(checkpoint.training, (std::map<std::string, std::string>{{"step", "3"}}));
  EXPECT_EQ(checkpoint.info, sample_info());
  Arena resumed(layout_);
  load_parameters(checkpoint, resumed);
  const auto second_part = make_optimizer(options, resumed);
  load_state(checkpoint, second_part->state());
  train(resumed, *second_part, 4, 5);
  expect_same_bits(resumed.buffer(), expected.buffer());
  for (std::size_t i = 0; i < whole->state().size(); ++i)
    expect_same_bits(second_part->state()[i].arena.buffer(), whole->state()[i].arena.buffer(), whole->state()[i].name);
}

TEST_F(BundleTest, RefusesTheStateOfAnotherOptimizer) {
  const auto sgd = make_optimizer({.name = "sgd", .momentum = 0.9}, parameters_);
  save_checkpoint(path_, sample_info(), parameters_, sample_golden(), {.arenas = sgd->state(), .values = {}});
  const auto adam = make_optimizer({.name = "adam"}, parameters_);
  expect_error(ErrorCode::data, "expected adam_m.a.weight to be F32 [50, 7], found nothing",
               [&] { load_state(load_bundle(path_), adam->state()); });
  expect_error(ErrorCode::data, "did not expect momentum.a.weight", [&] { load_state(load_bundle(path_), {}); });
}

// A process is killed again and again while it saves: what lies under the name is always a whole bundle.
TEST_F(BundleTest, AKillWhileSavingLeavesAWholeFile) {
  save();
  for (int round = 0; round < 8; ++round) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      for (BundleInfo info = sample_info();; ++info.seed) save(info);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5 + 4 * round));
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    Arena loaded(layout_);
    load_parameters(load_bundle(path_), loaded);
    expect_same_bits(loaded.buffer(), parameters_.buffer());
  }
}

}  // namespace
}  // namespace lockring::nn
