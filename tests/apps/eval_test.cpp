#include "apps/evaluation.h"
#include "apps/loaded_model.h"
#include "tests/apps/small_bundle.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>

namespace lockring::app {
namespace {

using Json = nlohmann::json;

class EvalTest : public SmallBundleTest {
 protected:
  Json eval(std::vector<std::string> more = {}) const {
    more.emplace_back("--json");
    const CapturedRun result = run("eval", more);
    EXPECT_EQ(result.code, 0) << result.err;
    return Json::parse(result.out);
  }
};

// Whatever the image, the model answers with these logits: -1, ..., -1, 2.
void always_answer_nine(nn::Arena& parameters) {
  std::ranges::fill(parameters.buffer().values(), 0.0F);
  Tensor bias = parameters.view(*parameters.layout().find("dense2.bias"));
  std::ranges::fill(bias.values(), -1.0F);
  bias.data()[9] = 2;
}

TEST_F(EvalTest, FindsTheFiguresOfAKnownModel) {
  save(always_answer_nine);
  const Json report = eval();  // 20 images, two of each class
  EXPECT_EQ(report["images"], 20);
  EXPECT_EQ(report["correct"], 2);
  EXPECT_EQ(report["accuracy"], 0.1);
  // log sum exp, less the mean of the logits of the true classes.
  EXPECT_NEAR(report["loss"], std::log(9 * std::exp(-1.0) + std::exp(2.0)) - (9 * -1.0 + 2.0) / 10, 1e-6);
  EXPECT_EQ(report["golden_difference"], 0.0);
  EXPECT_EQ(report["trained_on_these_data"], true);
  for (int c = 0; c < 10; ++c) {
    std::vector<int> row(10);
    row[9] = 2;
    EXPECT_EQ(report["confusion"][c], Json(row));
    EXPECT_EQ(report["classes"][c]["recall"], c == 9 ? 1.0 : 0.0);
    EXPECT_EQ(report["classes"][c]["precision"], c == 9 ? 0.1 : 0.0);
  }
}

TEST_F(EvalTest, AgreesWithTheModelImageByImage) {
  const LoadedModel loaded = load_model(bundle_);
  const data::Dataset data = dataset();
  double loss = 0;
  int correct = 0;
  for (std::int64_t i = 0; i < 30; ++i) {
    const Tensor logits = logits_of(*loaded.model, loaded.transform, data.train.images->copy(i, i + 1));
    const int label = data.train.labels.data<std::uint8_t>()[i];
    double sum = 0;
    for (const float logit : logits.values()) sum += std::exp(static_cast<double>(logit));
    loss += std::log(sum) - logits.data()[label];
    correct += std::ranges::max_element(logits.values()) - logits.values().begin() == label;
  }
  const Json report = eval({"--split", "train", "--replicas", "1"});
  EXPECT_EQ(report["images"], 30);
  EXPECT_EQ(report["correct"], correct);
  EXPECT_NEAR(report["loss"], loss / 30, 1e-6);
  EXPECT_EQ(eval({"--split", "train", "--replicas", "3"}), report) << "the threads change nothing";
}

TEST_F(EvalTest, PrintsTables) {
  save(always_answer_nine);
  const CapturedRun result = run("eval");
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(result.err, "");
  EXPECT_NE(result.out.find("(mlp) on the 20 test images of small"), std::string::npos) << result.out;
  EXPECT_NE(result.out.find("accuracy  0.1000  (2 right)"), std::string::npos) << result.out;
  EXPECT_NE(result.out.find("  9         0.1000   1.0000   0.1818         2\n"), std::string::npos) << result.out;
}

TEST_F(EvalTest, NotesOtherData) {
  rewrite([](nn::TensorFile& file) { file.metadata["data_digest"] = std::string(64, 'a'); });
  const CapturedRun result = run("eval", {"--json"});
  EXPECT_EQ(result.code, 0);
  EXPECT_NE(result.err.find("trained on other data"), std::string::npos) << result.err;
  EXPECT_EQ(Json::parse(result.out)["trained_on_these_data"], false);
}

TEST_F(EvalTest, RefusesWhatDoesNotFit) {
  EXPECT_EQ(run("eval", {"--replicas", "0"}).code, 2);
  EXPECT_EQ(run("eval", {"--split", "validation"}).code, 2);
  std::filesystem::resize_file(bundle_, 100);
  const CapturedRun result = run("eval");
  EXPECT_EQ(result.code, 3);
  EXPECT_EQ(result.out, "");
  EXPECT_NE(result.err.find("model.safetensors"), std::string::npos) << result.err;
}

}  // namespace
}  // namespace lockring::app
