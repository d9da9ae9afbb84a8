#include "tests/apps/small_bundle.h"

#include "apps/evaluation.h"
#include "data/ingest.h"
#include "data/transform.h"
#include "models/models.h"
#include "nn/model.h"
#include "tests/data/small_files.h"

namespace lockring::app {

SmallBundleTest::SmallBundleTest() {
  data::write_dataset(directory_ / "raw", data::small_dataset());
  data::ingest({.source = (directory_ / "raw").string(),
                .name = "small",
                .data_dir = directory_ / "store",
                .expect_digest = "",
                .progress = {},
                .notice = [](const std::string&) {}});
  save();
}

data::Dataset SmallBundleTest::dataset() const { return data::load_dataset(directory_ / "store", "small"); }

void SmallBundleTest::save(const std::function<void(nn::Arena&)>& change) const {
  const data::Dataset small = dataset();
  const data::Transform transform = data::Transform::parse("normalize,flip", small.statistics);
  nn::Model model(models::mlp({6, 5, 1, 10}), 1);
  if (change) change(model.parameters());
  model.refresh();
  const nn::BundleInfo info{.program_version = "0.1.0",
                            .architecture = "mlp",
                            .input_shape = {6, 5, 1},
                            .transform = to_string(transform),
                            .mean = small.statistics.mean,
                            .deviation = small.statistics.deviation,
                            .classes = small.classes,
                            .metrics = {},
                            .data_digest = small.digest};
  const Tensor image = small.test.images->copy(0, 1);
  const Tensor logits = logits_of(model, transform, image);
  nn::save_bundle(bundle_, info, model.parameters(), {image.view({6, 5, 1}), logits.view({10})});
}

void SmallBundleTest::rewrite(const std::function<void(nn::TensorFile&)>& change) const {
  nn::TensorFile file = nn::read_safetensors(bundle_);
  change(file);
  nn::write_safetensors(bundle_, file);
}

CapturedRun SmallBundleTest::run(const std::string& command, std::vector<std::string> more) const {
  std::vector<std::string> arguments = {command, bundle_.string(), "--dataset",
                                        "small", "--data-dir",     (directory_ / "store").string()};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return captured_run(arguments);
}

}  // namespace lockring::app
