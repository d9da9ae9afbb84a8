#include "core/files.h"
#include "data/catalog.h"
#include "data/image_file.h"
#include "tests/apps/captured_run.h"
#include "tests/apps/scoped_variable.h"
#include "tests/data/small_files.h"
#include "tests/data/small_folders.h"
#include "tests/support/temporary_directory.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include <algorithm>

namespace lockring::app {
namespace {

// Runs the commands on a small data set called "small" in a data directory of its own.
class DataCommandTest : public testing::Test {
 protected:
  DataCommandTest() { data::write_dataset(directory_ / "raw", data::small_dataset()); }

  CapturedRun run(const std::string& command, std::vector<std::string> more = {}) const {
    std::vector<std::string> arguments = {"data", command, "--data-dir", (directory_ / "store").string()};
    if (std::ranges::count(more, "--dataset") == 0) arguments.insert(arguments.end(), {"--dataset", "small"});
    arguments.insert(arguments.end(), more.begin(), more.end());
    return captured_run(arguments);
  }
  CapturedRun ingest(std::vector<std::string> more = {}) const {
    more.insert(more.end(), {"--source", (directory_ / "raw").string()});
    return run("ingest", more);
  }

  TemporaryDirectory directory_;
};

TEST_F(DataCommandTest, IngestsOnceAndSaysWhyNotAgain) {
  const CapturedRun first = ingest();
  ASSERT_EQ(first.code, 0) << first.err;
  EXPECT_NE(first.out.find("small: ingested from "), std::string::npos) << first.out;
  EXPECT_NE(first.out.find("30 training and 20 test images, 6 x 5 x 1"), std::string::npos) << first.out;
  EXPECT_NE(first.err.find("note: "), std::string::npos) << "an unknown digest gets a notice";

  const CapturedRun again = ingest({"--json"});
  ASSERT_EQ(again.code, 0) << again.err;
  const nlohmann::json report = nlohmann::json::parse(again.out);
  EXPECT_EQ(report["already_there"], true);
  EXPECT_NE(report["reason"], "");
}

TEST_F(DataCommandTest, QuietLeavesOnlyTheResult) {
  const CapturedRun quiet = ingest({"--quiet"});
  EXPECT_EQ(quiet.code, 0);
  EXPECT_EQ(quiet.err, "");
  EXPECT_NE(quiet.out, "");
}

TEST_F(DataCommandTest, InfoTellsWhatIsThere) {
  ASSERT_EQ(ingest().code, 0);
  const CapturedRun text = run("info");
  EXPECT_EQ(text.code, 0);
  EXPECT_NE(text.out.find("30 training"), std::string::npos) << text.out;
  const nlohmann::json info = nlohmann::json::parse(run("info", {"--json"}).out);
  EXPECT_EQ(info["train"]["images"], 30);
  EXPECT_EQ(info["test"]["images"], 20);
  EXPECT_EQ(info["classes"].size(), info["train"]["per_class"].size());
  ASSERT_EQ(info["versions"].size(), 1u);
  EXPECT_EQ(info["versions"][0]["current"], true);
  EXPECT_EQ(info["versions"][0]["version"], info["digest"].get<std::string>().substr(0, 16));
  EXPECT_EQ(info["image"], (nlohmann::json{{"height", 6}, {"width", 5}, {"channels", 1}}));
  EXPECT_EQ(info["mean"].size(), 1u);
  EXPECT_EQ(info["bytes"], 16 + 900 + 8 + 30 + 16 + 600 + 8 + 20);
  EXPECT_EQ(info["source"], std::filesystem::canonical(directory_ / "raw").string());
}

TEST_F(DataCommandTest, InfoListsOldVersions) {
  ASSERT_EQ(ingest().code, 0);
  data::write_dataset(directory_ / "raw", data::small_dataset(1), true);
  for (const auto name : data::kFileNames) std::filesystem::remove(directory_ / "raw" / name);
  ASSERT_EQ(ingest().code, 0);
  const nlohmann::json info = nlohmann::json::parse(run("info", {"--json"}).out);
  ASSERT_EQ(info["versions"].size(), 2u);
  const bool first_is_old = info["versions"][1]["current"];
  const nlohmann::json old = info["versions"][first_is_old ? 0 : 1];
  EXPECT_EQ(old["current"], false);
  const std::string text = run("info").out;
  EXPECT_NE(text.find(old["version"].get<std::string>()), std::string::npos) << text;
  const CapturedRun named = run("verify", {"--dataset", "small@" + old["version"].get<std::string>(), "--json"});
  ASSERT_EQ(named.code, 0) << named.err;
  EXPECT_EQ(nlohmann::json::parse(named.out)["digest"], old["digest"]);
}

TEST_F(DataCommandTest, InfoDrawsAContactSheet) {
  ASSERT_EQ(ingest().code, 0);
  const std::filesystem::path file = directory_ / "sheet.png";
  const CapturedRun drawn = run("info", {"--contact-sheet", file.string()});
  ASSERT_EQ(drawn.code, 0) << drawn.err;
  EXPECT_NE(drawn.out.find(file.string()), std::string::npos);
  const data::DecodedImage image = data::read_image(file);
  EXPECT_EQ(image.channels, 1);
  EXPECT_EQ(image.height, 3 + 10 * 67);
  const CapturedRun refused = run("info", {"--contact-sheet", (directory_ / "absent/sheet.png").string()});
  EXPECT_EQ(refused.code, 3);
  EXPECT_NE(refused.err.find("cannot write"), std::string::npos) << refused.err;
}

TEST_F(DataCommandTest, AnImageFolderAndTheShareThatIsHeldOut) {
  std::filesystem::remove_all(directory_ / "raw");
  data::write_images(directory_ / "raw/cat", 10, 0, 4);
  data::write_images(directory_ / "raw/dog", 10, 1, 9);
  const CapturedRun run = ingest({"--test-fraction", "0.3", "--seed", "7"});
  ASSERT_EQ(run.code, 0) << run.err;
  EXPECT_NE(run.out.find("14 training and 6 test images, 3 x 4 to 3 x 9 x 3, 2 classes"), std::string::npos) << run.out;
  EXPECT_NE(run.err.find("has no test set"), std::string::npos) << run.err;
  const CapturedRun info = this->run("info");
  EXPECT_NE(info.out.find("a share of 0.3 of each class, drawn with seed 7"), std::string::npos) << info.out;
  EXPECT_EQ(nlohmann::json::parse(this->run("info", {"--json"}).out)["image"]["most_width"], 9);
  EXPECT_NE(ingest({"--test-fraction", "0.3", "--seed", "7"}).out.find("nothing to do"), std::string::npos);
  EXPECT_EQ(ingest({"--test-fraction", "2"}).code, 2);
}

// Quiet or not, and whatever is asked of the data set later.
TEST_F(DataCommandTest, MnistForFashionMnistIsLoudButNoError) {
  const data::ContentMarks& marks = data::find_known_dataset("mnist")->marks;
  data::write_dataset(directory_ / "raw", data::labelled_dataset(marks.train_per_class, marks.test_per_class));
  const char* warning = "WARNING: these are the files of mnist, stored under the name fashion-mnist";
  for (const std::vector<std::string>& more : {std::vector<std::string>{}, {"--quiet"}, {"--json"}}) {
    std::vector<std::string> arguments = more;
    arguments.insert(arguments.end(), {"--dataset", "fashion-mnist"});
    const CapturedRun run = ingest(arguments);
    EXPECT_EQ(run.code, 0);
    EXPECT_NE(run.err.find(warning), std::string::npos) << run.err;
  }
  EXPECT_NE(run("info", {"--dataset", "fashion-mnist"}).out.find("files of mnist"), std::string::npos);
  const CapturedRun trained =
      captured_run({"train", "--dataset", "fashion-mnist", "--data-dir", (directory_ / "store").string(), "--model",
                    "mlp", "--max-steps", "1", "--run-dir", (directory_ / "run").string()});
  ASSERT_EQ(trained.code, 0) << trained.err;
  EXPECT_NE(trained.err.find(warning), std::string::npos) << trained.err;
  EXPECT_NE(read_file(directory_ / "run/log.txt").find(warning), std::string::npos);
  const nlohmann::json summary = nlohmann::json::parse(read_file(directory_ / "run/summary.json"));
  EXPECT_NE(summary["data_warning"].get<std::string>().find("files of mnist"), std::string::npos);
  EXPECT_EQ(summary["dataset"], "fashion-mnist");
  const std::string version = "mlp on fashion-mnist@" + summary["data_digest"].get<std::string>().substr(0, 8) + " (";
  EXPECT_NE(read_file(directory_ / "run/log.txt").find(version), std::string::npos);
  const CapturedRun evaluated = captured_run({"eval", (directory_ / "run/best.safetensors").string(), "--dataset",
                                              "fashion-mnist", "--data-dir", (directory_ / "store").string()});
  EXPECT_NE(evaluated.err.find(warning), std::string::npos) << evaluated.err;
}

TEST_F(DataCommandTest, VerifyFindsAFlippedBit) {
  ASSERT_EQ(ingest().code, 0);
  const CapturedRun whole = run("verify", {"--json"});
  ASSERT_EQ(whole.code, 0) << whole.err;
  const nlohmann::json report = nlohmann::json::parse(whole.out);
  EXPECT_EQ(report["whole"], true);

  data::flip_bit(std::filesystem::path(report["directory"].get<std::string>()) / "train-images-idx3-ubyte", 100);
  const CapturedRun damaged = run("verify");
  EXPECT_EQ(damaged.code, 3);
  EXPECT_EQ(damaged.out, "");
  EXPECT_NE(damaged.err.find("train-images-idx3-ubyte"), std::string::npos) << damaged.err;
}

TEST_F(DataCommandTest, AnUnexpectedDigestIsAnError) {
  const CapturedRun run = ingest({"--expect-digest", std::string(64, '0')});
  EXPECT_EQ(run.code, 3);
  EXPECT_FALSE(std::filesystem::exists(directory_ / "store" / "small" / "current"));
}

TEST_F(DataCommandTest, OptionsComeFromTheFileToo) {
  write_file(directory_ / "c.toml", "[data.ingest]\nsource = \"" + (directory_ / "raw").string() + "\"\n");
  const CapturedRun run = this->run("ingest", {"--config", (directory_ / "c.toml").string()});
  EXPECT_EQ(run.code, 0) << run.err;
}

TEST_F(DataCommandTest, TheDataDirectoryIsTheUsers) {
  const ScopedVariable home("XDG_DATA_HOME", (directory_ / "home").string());
  const CapturedRun run =
      captured_run({"data", "ingest", "--dataset", "small", "--source", (directory_ / "raw").string()});
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_TRUE(std::filesystem::exists(directory_ / "home" / "lockring" / "data" / "small" / "current"));
}

}  // namespace
}  // namespace lockring::app
