// Folders of runs, made up.
#pragma once

#include "tests/data/small_files.h"
#include "tests/support/temporary_directory.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

namespace lockring::app {

struct RunFiles {
  std::string state = "running";
  std::string metrics =
      "{\"epoch\":1,\"step\":9,\"train_loss\":0.9,\"val_accuracy\":0.6,\"val_loss\":0.7,\"seconds\":1}\n"
      "{\"epoch\":2,\"step\":18,\"train_loss\":0.5,\"val_accuracy\":0.8,\"val_loss\":0.4,\"seconds\":1}\n";
  std::string config = "model = \"mlp\"\nepochs = 2\nlr = 0.1\nnesterov = false\n";
  std::string summary = "";  // none if empty
};

class RunFolderTest : public testing::Test {
 protected:
  std::filesystem::path folder(const std::string& name) const { return directory_ / name; }

  void make_run(const std::string& name, const RunFiles& files) const {
    std::filesystem::create_directories(folder(name));
    data::write(folder(name) / "status.json", "{\"state\": \"" + files.state + "\"}");
    data::write(folder(name) / "metrics.jsonl", files.metrics);
    data::write(folder(name) / "config.toml", files.config);
    data::write(folder(name) / "log.txt", "");
    if (!files.summary.empty()) data::write(folder(name) / "summary.json", files.summary);
  }

  TemporaryDirectory directory_;
};

}  // namespace lockring::app
