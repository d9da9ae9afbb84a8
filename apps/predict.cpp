// lockring predict: what a bundle's model takes images for.
#include "apps/command.h"
#include "apps/data_options.h"
#include "apps/data_reports.h"
#include "apps/device_option.h"
#include "apps/evaluation.h"
#include "apps/loaded_model.h"
#include "apps/option_values.h"
#include "apps/picture.h"
#include "apps/predict_inputs.h"
#include "apps/terminal.h"
#include "core/autograd.h"
#include "core/error.h"
#include "core/text.h"
#include "ops/softmax.h"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <memory>

namespace lockring::app {
namespace {

using Json = nlohmann::ordered_json;

// Images computed at once.
constexpr std::size_t kBatch = 64;

struct Options : DataOptions {
  std::string bundle;
  std::vector<std::string> files;
  std::vector<std::int64_t> test_samples;
  CacheOptions cache;
  std::string device = "auto";
  int top = 3;
  bool draw = false;
  bool json = false;
};

struct Guess {
  std::int64_t label = 0;
  double probability = 0;
};
struct Prediction {
  PredictInput input;
  std::vector<Guess> guesses;  // the likeliest first
};

struct Failure {
  std::string argument;
  std::string message;
};

// An argument that cannot be read is a failure; the others go on.
std::vector<PredictInput> read_files(const Options& options, const LoadedModel& loaded,
                                     std::vector<Failure>& failures) {
  std::vector<PredictInput> inputs;
  for (const std::string& argument : options.files) {
    try {
      std::ranges::move(read_inputs(argument, loaded.images, loaded.transform.front()), std::back_inserter(inputs));
    } catch (const Error& error) {
      failures.push_back({argument, error.what()});
    }
  }
  return inputs;
}

std::vector<PredictInput> test_inputs(const Options& options, const LoadedModel& loaded) {
  if (options.test_samples.empty()) return {};
  const DataReports reports(false);
  data::LoadOptions load = reports.load_options(options.cache, loaded.transform.front());
  load.train = false;
  const data::Dataset dataset = data::load_dataset(options.directory(), options.dataset, load);
  check_suits(loaded, dataset);
  std::vector<PredictInput> inputs;
  for (const std::int64_t sample : options.test_samples) {
    check(sample >= 0 && sample < dataset.test.size(), "--test-samples {}: {} has test images 0 to {}", sample,
          dataset.name, dataset.test.size() - 1);
    inputs.push_back({.name = fmt::format("test image {}", sample),
                      .pixels = dataset.test.images->copy(sample, sample + 1).view(loaded.info.input_shape),
                      .truth = dataset.test.labels.values<std::uint8_t>()[static_cast<std::size_t>(sample)]});
  }
  return inputs;
}

std::vector<Guess> best_guesses(std::span<const float> probabilities, int top) {
  std::vector<Guess> guesses;
  for (const float probability : probabilities)
    guesses.push_back({static_cast<std::int64_t>(guesses.size()), probability});
  std::ranges::stable_sort(guesses, std::greater(), &Guess::probability);
  guesses.resize(std::min(guesses.size(), static_cast<std::size_t>(top)));
  return guesses;
}

std::vector<Prediction> predict_all(const LoadedModel& loaded, std::vector<PredictInput> inputs, int top) {
  const NoGrad no_grad;
  const auto classes = static_cast<std::size_t>(loaded.images.classes);
  const Shape& image = loaded.info.input_shape;
  std::vector<Prediction> predictions;
  for (std::size_t begin = 0; begin < inputs.size(); begin += kBatch) {
    const std::span batch = std::span(inputs).subspan(begin, std::min(kBatch, inputs.size() - begin));
    Tensor pixels = Tensor::empty({static_cast<std::int64_t>(batch.size()), image[0], image[1], image[2]}, DType::u8);
    auto* next = pixels.data<std::uint8_t>();
    for (const PredictInput& input : batch) next = std::ranges::copy(input.pixels.values<std::uint8_t>(), next).out;
    const Tensor probabilities = ops::softmax(logits_of(*loaded.model, loaded.transform, pixels));
    for (std::size_t i = 0; i < batch.size(); ++i) {
      const std::span row = probabilities.values().subspan(i * classes, classes);
      check(std::ranges::all_of(row, [](float p) { return std::isfinite(p); }), ErrorCode::data,
            "{}: the model's scores are not finite", batch[i].name);
      predictions.push_back({std::move(batch[i]), best_guesses(row, top)});
    }
  }
  return predictions;
}

Json prediction_json(const Prediction& prediction, const std::vector<std::string>& classes) {
  Json top = Json::array();
  for (const Guess& guess : prediction.guesses) {
    top.push_back({{"label", guess.label},
                   {"class", classes[static_cast<std::size_t>(guess.label)]},
                   {"probability", guess.probability}});
  }
  Json json = {{"input", prediction.input.name}};
  json.update(top[0]);
  if (prediction.input.truth >= 0) json["true_class"] = classes[static_cast<std::size_t>(prediction.input.truth)];
  json["inverted"] = prediction.input.inverted;
  json["top"] = std::move(top);
  return json;
}

void print_json(const LoadedModel& loaded, const std::vector<Prediction>& predictions,
                const std::vector<Failure>& failures) {
  Json json = {{"bundle", loaded.path.string()},
               {"model", loaded.info.architecture},
               {"predictions", Json::array()},
               {"failures", Json::array()}};
  for (const Prediction& prediction : predictions)
    json["predictions"].push_back(prediction_json(prediction, loaded.info.classes));
  for (const Failure& failure : failures)
    json["failures"].push_back({{"input", failure.argument}, {"message", failure.message}});
  print("{}\n", json.dump(2, ' ', false, Json::error_handler_t::replace));
}

std::string guess_text(const Guess& guess, const std::vector<std::string>& classes) {
  constexpr int kNameColumns = 14;
  return fmt::format("{:<{}.{}} {:>5.1f} %", classes[static_cast<std::size_t>(guess.label)], kNameColumns, kNameColumns,
                     100 * guess.probability);
}

// One line an image.
void print_table(const std::vector<Prediction>& predictions, const std::vector<std::string>& classes) {
  constexpr std::size_t kWidestName = 40;
  std::size_t columns = 0;
  for (const Prediction& prediction : predictions) columns = std::max(columns, prediction.input.name.size());
  for (const Prediction& prediction : predictions) {
    std::string line = fmt::format("{:<{}}", prediction.input.name, std::min(columns, kWidestName));
    for (const Guess& guess : prediction.guesses) line += "  " + guess_text(guess, classes);
    print("{}\n", line);
  }
}

// Each image as the model sees it, under what it is taken for and what it is.
void print_pictures(const std::vector<Prediction>& predictions, const std::vector<std::string>& classes) {
  std::vector<Picture> pictures;
  std::size_t known = 0;
  std::size_t right = 0;
  for (const auto& [input, guesses] : predictions) {
    Picture picture{input.pixels, {std::filesystem::path(input.name).filename().string()}};
    for (const Guess& guess : guesses) picture.caption.push_back(guess_text(guess, classes));
    const bool correct = input.truth == guesses[0].label;
    if (input.truth >= 0) {
      ++known;
      right += correct;
      picture.caption.push_back((correct ? "is " : "but is ") + classes[static_cast<std::size_t>(input.truth)]);
    } else {
      picture.caption.emplace_back(input.inverted ? "inverted: light on dark" : "");
    }
    pictures.push_back(std::move(picture));
  }
  print_text(picture_rows(pictures, terminal_width(stdout), shows_utf8()));
  if (known > 0) print("{} of {} right\n", right, known);
}

int run(const Options& options) {
  check(!options.files.empty() || !options.test_samples.empty(), "expected image files or --test-samples");
  const LoadedModel loaded = load_model(options.bundle, choose_devices_and_say(options.device).devices[0]);
  std::vector<PredictInput> inputs = test_inputs(options, loaded);
  std::vector<Failure> failures;
  std::ranges::move(read_files(options, loaded, failures), std::back_inserter(inputs));
  const std::vector<Prediction> predictions = predict_all(loaded, std::move(inputs), options.top);
  if (options.json) {
    print_json(loaded, predictions, failures);
  } else if (options.draw || !options.test_samples.empty()) {
    print_pictures(predictions, loaded.info.classes);
  } else {
    print_table(predictions, loaded.info.classes);
  }
  for (const Failure& failure : failures) fmt::print(stderr, "lockring: {}\n", printable(failure.message));
  return failures.empty() ? 0 : exit_code(ErrorCode::data);
}

}  // namespace

Action predict(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("bundle", options->bundle, "the trained model: a .safetensors file of a run")
      ->required()
      ->configurable(false)
      ->type_name("BUNDLE");
  app.add_option("files", options->files, "PNG or JPEG images of any size, IDX files, or IDX entries FILE[0:10]")
      ->configurable(false)
      ->default_str("")
      ->type_name("FILE");
  app.add_option("--test-samples", options->test_samples, "also these images of the stored test set: 0,5,9")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->default_str("")
      ->type_name("I,J");
  add_data_options(app, *options);
  add_cache_options(app, options->cache);
  add_device_option(app, options->device);
  app.add_option("--top", options->top, "how many classes to show of each image")->check(above(0));
  app.add_flag("--draw", options->draw, "draw each image as the model sees it; test images always are");
  app.add_flag("--json", options->json, "print one JSON object");
  app.footer(
      "A dark thing on a light ground is inverted for models of data that came grey, which know light things on "
      "dark.\n\n"
      "Examples:\n  lockring predict runs/cnn-1/best.safetensors shoe.png shirt.jpg\n"
      "  lockring predict runs/cnn-1/best.safetensors --test-samples 0,5,9");
  return [options] { return run(*options); };
}

}  // namespace lockring::app
