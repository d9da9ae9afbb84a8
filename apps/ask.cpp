// lockring ask: what the models of a server take test images for, beside each other.
#include "apps/ask/served_models.h"
#include "apps/command.h"
#include "apps/data_options.h"
#include "apps/data_reports.h"
#include "apps/option_values.h"
#include "apps/picture.h"
#include "apps/terminal.h"
#include "apps/text_table.h"
#include "core/error.h"
#include "core/files.h"
#include "core/text.h"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <memory>
#include <optional>

namespace lockring::app {
namespace {

using Json = nlohmann::ordered_json;

// Images a request.
constexpr std::int64_t kBatch = 64;

struct Options : DataOptions {
  std::string url;
  std::optional<std::int64_t> images;
  std::vector<std::int64_t> draw;
  std::string api_key_file;
  std::string authorities;
  std::string output;
  bool insecure = false;
  bool json = false;
};

// What a model takes an image for.
struct Guess {
  std::int64_t label = 0;
  float probability = 0;
};

// What one model says of the first images, and of those to be drawn.
struct Answers {
  ServedModel model;
  std::int64_t right = 0;
  std::vector<Guess> drawn;
};

std::vector<http::Header> key_header(const Options& options) {
  if (options.api_key_file.empty()) return {};
  std::string key = read_file(options.api_key_file);
  while (!key.empty() && (key.back() == '\n' || key.back() == '\r')) key.pop_back();
  check(is_printable(key), ErrorCode::data, "{} is no API key", options.api_key_file);
  return {{"X-API-Key", key}};
}

data::Dataset load_test_images(const Options& options) {
  const DataReports reports(false);
  data::LoadOptions load = reports.load_options({}, {});
  load.train = false;
  return data::load_dataset(options.directory(), options.dataset, load);
}

void check_suits(const ServedModel& model, const data::Dataset& dataset) {
  const Shape& shape = dataset.test.images->shape();
  check(model.image == std::array{shape[1], shape[2], shape[3]} && model.classes.size() == dataset.classes.size(),
        ErrorCode::data, "{} takes images of {} x {} x {} in {} classes; those of {} are {} x {} x {} in {}",
        printable(model.name), model.image[0], model.image[1], model.image[2], model.classes.size(), dataset.name,
        shape[1], shape[2], shape[3], dataset.classes.size());
}

std::vector<Guess> guesses_of(const AskedServer& server, const ServedModel& model, const Tensor& images) {
  const Tensor probabilities = ask(server, model, images);
  const std::size_t classes = model.classes.size();
  std::vector<Guess> guesses;
  for (std::size_t i = 0; i < static_cast<std::size_t>(images.size(0)); ++i) {
    const std::span<const float> row = probabilities.values().subspan(i * classes, classes);
    const auto best = std::ranges::max_element(row);
    guesses.push_back({best - row.begin(), *best});
  }
  return guesses;
}

std::int64_t label_of(const data::Split& split, std::int64_t image) {
  return split.labels.values<std::uint8_t>()[static_cast<std::size_t>(image)];
}

Answers answers_of(const AskedServer& server, const ServedModel& model, const data::Split& split, std::int64_t count,
                   const std::vector<std::int64_t>& drawn) {
  Answers answers{.model = model, .drawn = {}};
  for (std::int64_t begin = 0; begin < count; begin += kBatch) {
    const Tensor images = split.images->copy(begin, std::min(begin + kBatch, count));
    std::int64_t image = begin;
    for (const Guess& guess : guesses_of(server, model, images))
      answers.right += guess.label == label_of(split, image++);
  }
  for (const std::int64_t image : drawn)
    answers.drawn.push_back(guesses_of(server, model, split.images->copy(image, image + 1))[0]);
  return answers;
}

double share(std::int64_t right, std::int64_t count) {
  return static_cast<double>(right) / static_cast<double>(std::max<std::int64_t>(count, 1));
}

std::string json_text(const std::vector<Answers>& all, const data::Dataset& dataset, std::int64_t count,
                      const std::vector<std::int64_t>& drawn) {
  Json models = Json::array();
  for (const Answers& answers : all) {
    Json guesses = Json::array();
    for (std::size_t i = 0; i < drawn.size(); ++i)
      guesses.push_back({{"image", drawn[i]},
                         {"class", dataset.classes[static_cast<std::size_t>(answers.drawn[i].label)]},
                         {"probability", answers.drawn[i].probability},
                         {"true_class", dataset.classes[static_cast<std::size_t>(label_of(dataset.test, drawn[i]))]}});
    models.push_back({{"model", answers.model.name},
                      {"what", answers.model.what},
                      {"val_accuracy", answers.model.validated ? Json(*answers.model.validated) : Json()},
                      {"test_accuracy", share(answers.right, count)},
                      {"right", answers.right},
                      {"guesses", guesses}});
  }
  return Json{{"dataset", dataset.name}, {"images", count}, {"models", models}}.dump(2) + "\n";
}

std::string table(const std::vector<Answers>& all, std::int64_t count) {
  std::vector<std::vector<std::string>> rows = {{"model", "what", "validation", "test", "right"}};
  for (const auto& [model, right, drawn] : all)
    rows.push_back({model.name, model.what, model.validated ? fmt::format("{:.4f}", *model.validated) : "-",
                    fmt::format("{:.4f}", share(right, count)), with_thousands(right)});
  return text_table(rows, {Align::left, Align::left, Align::right, Align::right, Align::right});
}

// Each image under what every model takes it for, the ensemble last, and what it is.
std::string pictures_text(const std::vector<Answers>& all, const data::Dataset& dataset,
                          const std::vector<std::int64_t>& drawn) {
  const Shape& shape = dataset.test.images->shape();
  std::vector<Picture> pictures;
  for (std::size_t i = 0; i < drawn.size(); ++i) {
    const std::int64_t truth = label_of(dataset.test, drawn[i]);
    Picture picture{dataset.test.images->copy(drawn[i], drawn[i] + 1).view({shape[1], shape[2], shape[3]}),
                    {fmt::format("test image {}", drawn[i])}};
    for (const Answers& answers : all)
      picture.caption.push_back(fmt::format("{:<9.9}{:<11.11}{:>3.0f}%", answers.model.name,
                                            dataset.classes[static_cast<std::size_t>(answers.drawn[i].label)],
                                            100 * answers.drawn[i].probability));
    picture.caption.push_back((all.back().drawn[i].label == truth ? "is " : "but is ") +
                              dataset.classes[static_cast<std::size_t>(truth)]);
    pictures.push_back(std::move(picture));
  }
  return picture_rows(pictures, terminal_width(stdout), shows_utf8());
}

std::string report_text(const Options& options, const std::vector<Answers>& all, const data::Dataset& dataset,
                        std::int64_t count) {
  std::string text = fmt::format("{} test images of {}, asked of {}\n\n", with_thousands(count), dataset.name,
                                 printable(options.url)) +
                     table(all, count);
  if (!options.draw.empty()) text += "\n" + pictures_text(all, dataset, options.draw);
  return text;
}

int run(const Options& options) {
  const AskedServer server(options.url, key_header(options), options.insecure, options.authorities);
  const std::vector<ServedModel> models = served_models(server);
  const data::Dataset dataset = load_test_images(options);
  const std::int64_t most = dataset.test.size();
  const std::int64_t count = std::min(options.images.value_or(most), most);
  for (const std::int64_t image : options.draw)
    check(image >= 0 && image < most, "--draw {}: {} has test images 0 to {}", image, dataset.name, most - 1);
  std::vector<Answers> all;
  for (const ServedModel& model : models) {
    check_suits(model, dataset);
    all.push_back(answers_of(server, model, dataset.test, count, options.draw));
  }
  const std::string text =
      options.json ? json_text(all, dataset, count, options.draw) : report_text(options, all, dataset, count);
  print_text(text);
  if (!options.output.empty()) write_file(options.output, text);
  return 0;
}

}  // namespace

Action ask(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("url", options->url, "the server: http://host:port")
      ->required()
      ->configurable(false)
      ->type_name("URL");
  add_data_options(app, *options);
  app.add_option("--images", options->images, "ask about so many test images only; all unless given")->check(above(0));
  app.add_option("--draw", options->draw, "draw these test images and what each model takes them for: 0,5,9")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->default_str("")
      ->type_name("I,J");
  app.add_option("--api-key-file", options->api_key_file, "file with the key that the server asks for")
      ->type_name("FILE");
  app.add_flag("--insecure", options->insecure, "trust any certificate");
  app.add_option("--ca", options->authorities, "trust the authorities of this PEM file")->type_name("FILE");
  app.add_option("--output", options->output, "also write what is printed to this file")
      ->configurable(false)
      ->type_name("FILE");
  app.add_flag("--json", options->json, "print one JSON object");
  app.footer("Example:\n  lockring ask http://localhost:8000 --draw 0,1,2");
  return [options] { return run(*options); };
}

}  // namespace lockring::app
