// Runs whose images pass a front, lie on disk, or are loaded by threads.
#include "core/files.h"
#include "nn/bundle.h"
#include "tests/apps/small_training.h"
#include "tests/data/small_files.h"
#include "tests/data/small_images.h"

#include <algorithm>

namespace lockring::app {
namespace {

namespace fs = std::filesystem;

class TrainDataTest : public TrainCommandTest {
 protected:
  std::vector<std::string> on_disk(std::vector<std::string> more = {}) const {
    more.insert(more.end(), {"--cache-memory", "0", "--cache-dir", cache_.string()});
    return more;
  }
  // A command on the bundle of a run, with --json.
  nlohmann::json on_bundle(const std::string& command, const std::string& run, std::vector<std::string> more) const {
    more.insert(more.begin(), {command, (folder(run) / "best.safetensors").string()});
    more.insert(more.end(), {"--dataset", "small", "--data-dir", (directory_ / "store").string(), "--json"});
    const CapturedRun done = captured_run(more);
    EXPECT_EQ(done.code, 0) << done.err;
    return nlohmann::json::parse(done.out);
  }

  const fs::path cache_ = directory_ / "cache";
};

TEST_F(TrainDataTest, TheFrontBelongsToTheModel) {
  train_well("run", on_disk({"--augment", "resize:20x22,grayscale,flip", "--max-steps", "5"}));
  const nn::Bundle bundle = nn::load_bundle(folder("run") / "best.safetensors");
  EXPECT_EQ(bundle.info.input_shape, (Shape{20, 22, 1}));
  EXPECT_TRUE(bundle.info.transform.starts_with("resize:20x22,grayscale,normalize:")) << bundle.info.transform;

  const nlohmann::json in_memory = on_bundle("eval", "run", {});
  EXPECT_EQ(in_memory["images"], 100);
  EXPECT_EQ(in_memory["loss"], summary("run")["test_loss"]);
  EXPECT_EQ(on_bundle("eval", "run", on_disk()), in_memory);
  EXPECT_EQ(on_bundle("eval", "run", on_disk({"--split", "train"}))["images"], 600);

  const nlohmann::json stored = on_bundle("predict", "run", {"--test-samples", "0,7", "--cache-dir", cache_.string()});
  ASSERT_EQ(stored["predictions"].size(), 2u);
  // The same images in the size they had before.
  const std::string raw = (directory_ / "raw" / "t10k-images-idx3-ubyte").string();
  const nlohmann::json from_file = on_bundle("predict", "run", {raw + "[0]", raw + "[7]"});
  for (int i = 0; i < 2; ++i) EXPECT_EQ(stored["predictions"][i]["top"], from_file["predictions"][i]["top"]);
}

// Statistics are those of what the model sees.
TEST_F(TrainDataTest, NormalizeKnowsTheImagesAfterTheFront) {
  train_well("plain", {"--max-steps", "1"});
  train_well("memory", {"--augment", "resize:36x18", "--max-steps", "1"});
  train_well("disk", on_disk({"--augment", "resize:36x18", "--max-steps", "1"}));
  const auto mean = [&](const char* run) { return nn::load_bundle(folder(run) / "best.safetensors").info.mean; };
  EXPECT_EQ(mean("memory"), mean("disk"));
  EXPECT_NEAR(mean("memory")[0], mean("plain")[0] / 2, 1e-4);  // half of a pixel is border
}

TEST_F(TrainDataTest, ALightGroundIsInvertedForDataThatCameGrey) {
  data::write(directory_ / "light.png",
              data::png_file({.width = 9, .height = 9, .palette = {}}, std::string(81, '\xf0')));
  train_well("grey", {"--max-steps", "1"});
  train_well("greyed", {"--augment", "grayscale", "--max-steps", "1"});
  const std::string file = (directory_ / "light.png").string();
  EXPECT_EQ(on_bundle("predict", "grey", {file})["predictions"][0]["inverted"], true);
  EXPECT_EQ(on_bundle("predict", "greyed", {file})["predictions"][0]["inverted"], false);
}

TEST_F(TrainDataTest, PlaceAndThreadsChangeNoBit) {
  const std::string augment = "resize:20,rotate:15,crop:1,flip,mixup:0.5";
  const std::vector<std::string> recipe = {"--augment", augment, "--shards", "2"};
  train_well("memory", recipe);
  for (const char* threads : {"0", "1", "3"}) {
    const std::string name = std::string("disk ") + threads;
    std::vector<std::string> more = on_disk(recipe);
    more.insert(more.end(), {"--loader-threads", threads});
    train_well(name, more);
    expect_same_results("memory", name);
  }
}

TEST_F(TrainDataTest, TheLogSaysWhereImagesLie) {
  train_well("disk", on_disk({"--max-steps", "1"}));
  const std::string bytes_text = "190 KiB";  // 600 images of 18 x 18
  EXPECT_NE(bytes("disk", "log.txt").find("training images: " + bytes_text + ", read from disk by "), std::string::npos)
      << bytes("disk", "log.txt");
  train_well("nowhere", {"--augment", "resize:20", "--max-steps", "1", "--cache-memory", "0", "--cache-dir",
                         "/dev/null/cache", "--loader-threads", "2"});
  const std::string log = bytes("nowhere", "log.txt");
  EXPECT_NE(log.find("prepared anew in each epoch by 2 threads\n"), std::string::npos) << log;
  EXPECT_NE(log.find("note: there is no disk cache"), std::string::npos) << log;
  train_well("memory", {"--max-steps", "1"});
  EXPECT_EQ(bytes("memory", "log.txt").find("training images:"), std::string::npos);
}

TEST_F(TrainDataTest, MistakesAreFoundBeforeImagesArePrepared) {
  const auto refuse = [&](std::vector<std::string> more, const std::string& part) {
    expect_refused(on_disk(std::move(more)), 2, part);
    EXPECT_FALSE(fs::exists(cache_));
  };
  refuse({"--model", "lenet", "--augment", "resize:3"}, "too small");
  refuse({"--augment", "resize:20,crop:20"}, "crop: expected a padding below");
  refuse({"--augment", "resize:20,normalize"}, "normalize is given twice");
  refuse({"--augment", "resize:20", "--loader-threads", "-1"}, "--loader-threads takes 'auto' or a number from 0");
  refuse({"--augment", "resize:20", "--loader-threads", "two"}, "not 'two'");
  refuse({"--augment", "resize:20", "--replicas", "0"}, "--replicas");
  expect_refused({"--cache-memory", "much"}, 2, "--cache-memory: expected a size such as 512M or 2G, found 'much'");
}

}  // namespace
}  // namespace lockring::app
