#include "core/files.h"
#include "tests/apps/captured_run.h"
#include "tests/apps/scoped_variable.h"
#include "tests/data/small_files.h"
#include "tests/support/temporary_directory.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace lockring::app {
namespace {

// Runs the commands on a small data set called "small" in a data directory of its own.
class DataCommandTest : public testing::Test {
 protected:
  DataCommandTest() { data::write_dataset(directory_ / "raw", data::small_dataset()); }

  CapturedRun run(const std::string& command, std::vector<std::string> more = {}) const {
    std::vector<std::string> arguments = {"data",  command,      "--dataset",
                                          "small", "--data-dir", (directory_ / "store").string()};
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
  EXPECT_EQ(info["versions"].size(), 1u);
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
