// lockring eval: how good a bundle's model is on a stored data set.
#include "apps/command.h"
#include "apps/data_options.h"
#include "apps/data_reports.h"
#include "apps/device_option.h"
#include "apps/evaluation.h"
#include "apps/loaded_model.h"
#include "apps/option_values.h"
#include "apps/report.h"
#include "apps/terminal.h"
#include "core/cpu.h"
#include "data/sampler.h"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <memory>

namespace lockring::app {
namespace {

using Json = nlohmann::ordered_json;

struct Options : DataOptions {
  std::string bundle;
  CacheOptions cache;
  std::string device = "auto";
  std::string split = "test";
  int replicas = usable_cores();
  bool json = false;
};

Json classes_json(const Evaluation& evaluation, const std::vector<std::string>& names) {
  Json json = Json::array();
  const std::vector<ClassScore> scores = class_scores(evaluation);
  for (std::size_t c = 0; c < scores.size(); ++c) {
    json.push_back({{"class", names[c]},
                    {"images", scores[c].count},
                    {"precision", scores[c].precision},
                    {"recall", scores[c].recall},
                    {"f1", scores[c].f1}});
  }
  return json;
}

// Rows of counts, one a true class.
Json confusion_json(const Evaluation& evaluation) {
  Json json = Json::array();
  for (auto row = evaluation.confusion.begin(); row != evaluation.confusion.end(); row += evaluation.classes)
    json.push_back(std::vector(row, row + evaluation.classes));
  return json;
}

void print_json(const Options& options, const LoadedModel& loaded, const data::Dataset& dataset,
                const Evaluation& evaluation) {
  const Json json = {
      {"bundle", options.bundle},
      {"model", loaded.info.architecture},
      {"dataset", dataset.name},
      {"data_digest", dataset.digest},
      {"data_warning", dataset.warning},
      {"trained_on_these_data", dataset.digest == loaded.info.data_digest},
      {"split", options.split},
      {"images", evaluation.count},
      {"correct", evaluation.correct},
      {"accuracy", evaluation.accuracy()},
      {"loss", evaluation.loss},
      {"golden_difference", loaded.golden_difference},
      {"classes", classes_json(evaluation, dataset.classes)},
      {"confusion", confusion_json(evaluation)},
  };
  print("{}\n", json.dump(2));
}

void print_report(const Options& options, const LoadedModel& loaded, const data::Dataset& dataset,
                  const Evaluation& evaluation) {
  print("{} ({}) on the {} {} images of {}\n\n", options.bundle, loaded.info.architecture,
        with_thousands(evaluation.count), options.split == "test" ? "test" : "training", dataset.name);
  print("  accuracy  {:.4f}  ({} right)\n  loss      {:.4f}\n\n", evaluation.accuracy(),
        with_thousands(evaluation.correct), evaluation.loss);
  print("{}\n{}", class_table(evaluation, dataset.classes), confusion_table(evaluation, dataset.classes));
}

// What does not stop the evaluation but is to be known.
void print_notes(const LoadedModel& loaded, const data::Dataset& dataset) {
  if (!dataset.warning.empty()) fmt::print(stderr, "WARNING: {}\n", dataset.warning);
  if (dataset.digest != loaded.info.data_digest)
    fmt::print(stderr, "note: the model was trained on other data (digest {:.16}) than these (digest {:.16})\n",
               loaded.info.data_digest, dataset.digest);
  if (loaded.golden_difference > 0)
    fmt::print(stderr, "note: the bundle was made on other kernels than these; its sample differs by {:.1g}\n",
               loaded.golden_difference);
}

data::Dataset load_data(const Options& options, const LoadedModel& loaded) {
  const DataReports reports(false);
  data::LoadOptions load = reports.load_options(options.cache, loaded.transform.front());
  load.train = options.split == "train";
  load.test = !load.train;
  return data::load_dataset(options.directory(), options.dataset, load);
}

int run(const Options& options) {
  const DeviceChoice choice = choose_devices_and_say(options.device);
  const LoadedModel loaded = load_model(options.bundle);
  const data::Dataset dataset = load_data(options, loaded);
  check_suits(loaded, dataset);
  print_notes(loaded, dataset);
  const data::Split& split = options.split == "test" ? dataset.test : dataset.train;
  const DeviceCopies copies(*loaded.model, choice.devices,
                            [&] { return models::find_architecture(loaded.info.architecture).build(loaded.images); });
  dist::ReplicaTeam team(choice.on_gpu() ? static_cast<int>(choice.devices.size()) : options.replicas);
  const Evaluation evaluation =
      evaluate(team, copies.models(), split, data::all_samples(split.size()), loaded.transform);
  if (options.json) {
    print_json(options, loaded, dataset, evaluation);
  } else {
    print_report(options, loaded, dataset, evaluation);
  }
  return 0;
}

}  // namespace

Action eval(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("bundle", options->bundle, "the trained model: a .safetensors file of a run")
      ->required()
      ->configurable(false)
      ->type_name("BUNDLE");
  add_data_options(app, *options);
  add_cache_options(app, options->cache);
  add_device_option(app, options->device);
  app.add_option("--split", options->split, "which images")->check(one_of({"test", "train"}));
  const auto automatic = [](std::string& text) {
    if (text == "auto") text = std::to_string(usable_cores());
    return std::string();
  };
  app.add_option("--replicas", options->replicas, "threads that evaluate on a CPU; the result does not depend on it")
      ->transform(CLI::Validator(automatic, "auto|N"))
      ->check(above(0))
      ->default_str("auto");
  app.add_flag("--json", options->json, "print one JSON object");
  app.footer("Example:\n  lockring eval runs/cnn-1/best.safetensors");
  return [options] { return run(*options); };
}

}  // namespace lockring::app
