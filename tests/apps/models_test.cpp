#include "models/models.h"

#include "tests/apps/captured_run.h"

#include <nlohmann/json.hpp>

namespace lockring::app {
namespace {

TEST(ModelsCommand, ListsThemAll) {
  const CapturedRun run = captured_run({"models", "--json"});
  ASSERT_EQ(run.code, 0) << run.err;
  const nlohmann::json report = nlohmann::json::parse(run.out);
  ASSERT_EQ(report["models"].size(), models::architectures().size());
  EXPECT_EQ(report["image"], (nlohmann::json{{"height", 28}, {"width", 28}, {"channels", 1}}));
  // 784 inputs, 512 hidden units, 10 classes.
  const nlohmann::json& mlp = report["models"][0];
  EXPECT_EQ(mlp["name"], "mlp");
  EXPECT_EQ(mlp["parameters"], 784 * 512 + 512 + 512 * 10 + 10);
  EXPECT_EQ(mlp["multiply_adds"], 784 * 512 + 512 * 10);
  const nlohmann::json& cnn = report["models"][1];
  EXPECT_EQ(cnn["name"], "cnn");
  EXPECT_EQ(cnn["parameters"],
            (9 + 1) * 32 + (9 * 32 + 1) * 64 + (9 * 64 + 1) * 64 + (9 * 64 + 1) * 64 + (64 + 1) * 10);
  EXPECT_EQ(cnn["multiply_adds"],
            26 * 26 * 9 * 32 + 11 * 11 * 9 * 32 * 64 + 3 * 3 * 9 * 64 * 64 + 9 * 64 * 64 + 64 * 10);
}

TEST(ModelsCommand, PrintsATable) {
  const CapturedRun run = captured_run({"models"});
  EXPECT_EQ(run.code, 0);
  EXPECT_NE(run.out.find("  mlp             407,050        406,528        shard\n"), std::string::npos) << run.out;
}

}  // namespace
}  // namespace lockring::app
