// A stored data set of a few small images, and bundles of models for it.
#pragma once

#include "data/dataset.h"
#include "nn/bundle.h"
#include "tests/apps/captured_run.h"
#include "tests/support/temporary_directory.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace lockring::app {

// The data set "small" of tests/data/small_files.h, and beside it a bundle of an untrained mlp for its images.
class SmallBundleTest : public testing::Test {
 protected:
  SmallBundleTest();

  // Saves an mlp of random parameters, after `change` was applied to them.
  void save(const std::function<void(nn::Arena&)>& change = {}) const;
  // Reads the bundle's file, changes its content and writes it again.
  void rewrite(const std::function<void(nn::TensorFile&)>& change) const;
  data::Dataset dataset() const;
  // `lockring COMMAND BUNDLE MORE...` on the data set.
  CapturedRun run(const std::string& command, std::vector<std::string> more = {}) const;

  TemporaryDirectory directory_;
  std::filesystem::path bundle_ = directory_ / "model.safetensors";
};

}  // namespace lockring::app
