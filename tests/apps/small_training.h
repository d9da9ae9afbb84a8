// A small data set that a model can learn, in memory and on disk, and `lockring train` on it.
#pragma once

#include "data/dataset.h"
#include "tests/apps/captured_run.h"
#include "tests/support/temporary_directory.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace lockring::app {

constexpr std::int64_t kSmallImage = 18;  // the smallest side that all models take

// `count` noisy images [18][18][1] of ten classes: a bright bar whose place tells the class.
data::Split learnable_split(std::int64_t count, std::uint64_t seed);

// A stored data set "small" of 600 training and 100 test images.
class TrainCommandTest : public testing::Test {
 protected:
  TrainCommandTest();

  // `lockring train` of an mlp with --quiet and batches of 64, into the folder `name` unless that is empty.
  CapturedRun train(const std::string& name, const std::vector<std::string>& more = {}) const;
  // The same, which must succeed.
  void train_well(const std::string& name, const std::vector<std::string>& more = {}) const;
  // The same, which must fail with one line that contains `part`, and leave no folder behind.
  void expect_refused(const std::vector<std::string>& more, int code, const std::string& part,
                      const char* file = __builtin_FILE(), int line = __builtin_LINE()) const;

  std::filesystem::path folder(const std::string& name) const { return directory_ / name; }
  std::string bytes(const std::string& name, const std::string& file) const;
  nlohmann::json summary(const std::string& name) const;
  // The lines of metrics.jsonl.
  std::vector<nlohmann::json> metrics(const std::string& name) const;
  // The same, without speeds.
  std::vector<nlohmann::json> epochs(const std::string& name) const;
  void expect_same_results(const std::string& one, const std::string& other) const;
  data::Dataset dataset() const { return data::load_dataset(directory_ / "store", "small"); }

  TemporaryDirectory directory_;
};

}  // namespace lockring::app
