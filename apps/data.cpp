// lockring data ingest, info and verify: from raw files to a stored, checked data set.
#include "apps/command.h"
#include "apps/contact_sheet.h"
#include "apps/data_options.h"
#include "apps/progress.h"
#include "apps/terminal.h"
#include "core/files.h"
#include "data/dataset_store.h"
#include "data/encode_png.h"
#include "data/ingest.h"
#include "data/stored_dataset.h"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <memory>
#include <optional>

namespace lockring::app {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::int64_t kSheetColumns = 12;

struct Options : DataOptions {
  std::string source;
  std::string expect_digest;
  std::optional<double> test_fraction;
  std::uint64_t seed = 1;
  std::string contact_sheet;
  bool quiet = false;
  bool json = false;
};

std::shared_ptr<Options> add_options(CLI::App& app) {
  auto options = std::make_shared<Options>();
  add_data_options(app, *options);
  app.add_flag("--json", options->json, "print one JSON object");
  return options;
}

// One bar after another: the work goes file by file.
class FileBars {
 public:
  explicit FileBars(bool quiet) : style_(progress_style(quiet)) { bar_.emplace(style_); }

  void update(std::string_view file, std::int64_t done, std::int64_t total) {
    if (file != file_) {
      file_ = file;
      bar_.emplace(style_);
    }
    const auto text = [&] {
      return fmt::format("{}, {} of {}", file, bytes_text(static_cast<double>(done)),
                         bytes_text(static_cast<double>(total)));
    };
    bar_->update(total > 0 ? static_cast<double>(done) / static_cast<double>(total) : 0, text);
  }
  void line(const std::string& text) { bar_->line(text); }
  // Shown even where nothing else is.
  void warn(const std::string& text) {
    const bool color = shows_color(stderr);
    const std::string line = fmt::format("{}WARNING: {}{}", color ? "\x1b[1;31m" : "", text, color ? "\x1b[0m" : "");
    if (style_.mode == ProgressStyle::Mode::quiet)
      fmt::print(stderr, "{}\n", line);
    else
      bar_->line(line);
  }

 private:
  ProgressStyle style_;
  std::string file_;
  std::optional<ProgressLine> bar_;
};

Json split_json(const data::SplitCounts& split) { return {{"images", split.images}, {"per_class", split.per_class}}; }

Json image_json(const data::ImageSizes& sizes) {
  if (sizes.one()) return {{"height", sizes.most_height}, {"width", sizes.most_width}, {"channels", sizes.channels}};
  return {{"least_height", sizes.least_height},
          {"most_height", sizes.most_height},
          {"least_width", sizes.least_width},
          {"most_width", sizes.most_width},
          {"channels", sizes.channels}};
}

Json dataset_json(const std::filesystem::path& directory, const data::Manifest& manifest) {
  return {
      {"name", manifest.name},
      {"digest", manifest.digest},
      {"directory", directory.string()},
      {"bytes", manifest.bytes()},
      {"source", manifest.source},
      {"ingested_utc", manifest.ingested_utc},
      {"image", image_json(manifest.sizes)},
      {"mean", manifest.statistics.mean},
      {"deviation", manifest.statistics.deviation},
      {"classes", manifest.classes},
      {"train", split_json(manifest.train)},
      {"test", split_json(manifest.test)},
      {"test_choice", manifest.test_choice},
      {"warning", manifest.warning},
  };
}

// Paths are what the user made them, not always UTF-8.
void print_json(const Json& json) { print("{}\n", json.dump(2, ' ', false, Json::error_handler_t::replace)); }

std::string size_text(const data::Manifest& manifest) {
  const data::ImageSizes& sizes = manifest.sizes;
  std::string size = fmt::format("{} x {}", sizes.most_height, sizes.most_width);
  if (!sizes.one()) size = fmt::format("{} x {} to {}", sizes.least_height, sizes.least_width, size);
  return fmt::format("{} training and {} test images, {} x {}, {} classes", with_thousands(manifest.train.images),
                     with_thousands(manifest.test.images), size, sizes.channels, manifest.classes.size());
}

int ingest(const Options& options) {
  FileBars bars(options.quiet);
  data::IngestOptions ingest;
  ingest.source = options.source;
  ingest.name = options.dataset;
  ingest.data_dir = options.directory();
  ingest.expect_digest = options.expect_digest;
  ingest.test_fraction = options.test_fraction;
  ingest.seed = options.seed;
  ingest.progress = [&](std::string_view file, std::int64_t done, std::int64_t total) {
    bars.update(file, done, total);
  };
  ingest.notice = [&](const std::string& text) { bars.line("note: " + text); };
  ingest.warning = [&](const std::string& text) { bars.warn(text); };
  const data::IngestReport report = data::ingest(ingest);
  if (options.json) {
    Json json = dataset_json(report.directory, report.manifest);
    json["already_there"] = report.already_there;
    json["reason"] = report.reason;
    print_json(json);
    return 0;
  }
  if (report.already_there) {
    print("{}: nothing to do, {}\n", options.dataset, report.reason);
  } else {
    print("{}: ingested from {}\n", options.dataset, report.manifest.source);
  }
  print("  {}\n  digest {}\n  {}\n", size_text(report.manifest), report.manifest.digest, report.directory.string());
  return 0;
}

// How many images of each class, by label.
void print_classes(const data::Manifest& manifest) {
  std::size_t widest = 5;
  for (const std::string& name : manifest.classes) widest = std::max(widest, name.size());
  print("\n  label  {:<{}}  {:>8}  {:>8}\n", "class", widest, "training", "test");
  for (std::size_t label = 0; label < manifest.classes.size(); ++label) {
    print("  {:>5}  {:<{}}  {:>8}  {:>8}\n", label, manifest.classes[label], widest,
          with_thousands(manifest.train.per_class[label]), with_thousands(manifest.test.per_class[label]));
  }
}

std::string numbers_text(const std::vector<float>& numbers) {
  std::string text;
  for (const float number : numbers) text += fmt::format("{}{:.4f}", text.empty() ? "" : " ", number);
  return text;
}

void print_versions(const std::vector<data::StoredVersion>& versions) {
  print("\n  version           ingested              {:>8}  {:>8}  {:>9}\n", "training", "test", "size");
  for (const data::StoredVersion& version : versions) {
    const data::Manifest& manifest = version.manifest;
    print("  {:<16}  {:<20}  {:>8}  {:>8}  {:>9}{}\n", version.name,
          manifest.ingested_utc.empty() ? "damaged" : manifest.ingested_utc, with_thousands(manifest.train.images),
          with_thousands(manifest.test.images), bytes_text(static_cast<double>(manifest.bytes())),
          version.current ? "  in use" : "");
  }
}

void print_info(const data::DatasetInfo& info) {
  const data::Manifest& manifest = info.manifest;
  print("{}: {}\n", manifest.name, size_text(manifest));
  if (!manifest.warning.empty()) print("  WARNING    {}\n", manifest.warning);
  print("  digest     {}\n  directory  {}\n  size       {}\n", manifest.digest, info.directory.string(),
        bytes_text(static_cast<double>(manifest.bytes())));
  print("  source     {}\n  ingested   {}\n", manifest.source, manifest.ingested_utc);
  if (!manifest.test_choice.empty()) print("  test set   {}\n", manifest.test_choice);
  print("  mean       {}\n  deviation  {}\n", numbers_text(manifest.statistics.mean),
        numbers_text(manifest.statistics.deviation));
  print_classes(manifest);
  print_versions(info.versions);
}

Json versions_json(const std::vector<data::StoredVersion>& versions) {
  Json json = Json::array();
  for (const data::StoredVersion& version : versions) {
    const data::Manifest& manifest = version.manifest;
    json.push_back({{"version", version.name},
                    {"current", version.current},
                    {"ingested_utc", manifest.ingested_utc},
                    {"digest", manifest.digest},
                    {"bytes", manifest.bytes()}});
  }
  return json;
}

int info(const Options& options) {
  const data::DatasetInfo info = data::dataset_info(options.directory(), options.dataset);
  if (!options.contact_sheet.empty()) {
    const data::StoredDataset dataset = data::open_dataset(options.directory(), options.dataset);
    write_file(options.contact_sheet, data::encode_png(contact_sheet(dataset, kSheetColumns)));
  }
  if (options.json) {
    Json json = dataset_json(info.directory, info.manifest);
    json["versions"] = versions_json(info.versions);
    print_json(json);
  } else {
    print_info(info);
    if (!options.contact_sheet.empty()) print("\n  images of each class: {}\n", options.contact_sheet);
  }
  return 0;
}

int verify(const Options& options) {
  const data::DatasetInfo info = data::verify_dataset(options.directory(), options.dataset);
  if (options.json) {
    Json json = dataset_json(info.directory, info.manifest);
    json["whole"] = true;
    print_json(json);
    return 0;
  }
  print("{}: whole, {} in {} files\n  digest {}\n  {}\n", info.manifest.name,
        bytes_text(static_cast<double>(info.manifest.bytes())), info.manifest.files.size(), info.manifest.digest,
        info.directory.string());
  return 0;
}

}  // namespace

Action data_ingest(CLI::App& app) {
  auto options = add_options(app);
  app.add_option(
         "--source", options->source,
         "folder of IDX files, of CIFAR's .bin files, or of a folder of images for each class; or URL of IDX files")
      ->type_name("DIR|URL");
  app.add_option("--expect-digest", options->expect_digest, "refuse content with another SHA-256 digest")
      ->type_name("HEX");
  app.add_option("--test-fraction", options->test_fraction,
                 "share of each class that becomes the test set, where the source has none [0.2]");
  app.add_option("--seed", options->seed, "of the choice of these images");
  app.add_flag("-q,--quiet", options->quiet, "print nothing but the result");
  app.footer(
      "Without --source, the files of the system's package dataset-fashion-mnist, else a download.\n"
      "IDX files have their usual names, with any beginning; classes.txt beside them may name the classes, one a "
      "line.\n"
      "Images are PNG or JPEG files DIR/train/CLASS/* and DIR/test/CLASS/*, or DIR/CLASS/*.\n\n"
      "Examples:\n  lockring data ingest\n  lockring data ingest --dataset digits --source ~/mnist\n"
      "  lockring data ingest --dataset flowers --source ~/flowers --test-fraction 0.1");
  return [options] { return ingest(*options); };
}

Action data_info(CLI::App& app) {
  auto options = add_options(app);
  app.add_option("--contact-sheet", options->contact_sheet, "also draw some images of each class into this PNG file")
      ->configurable(false)
      ->type_name("FILE");
  app.footer("Example:\n  lockring data info --dataset fashion-mnist --contact-sheet images.png");
  return [options] { return info(*options); };
}

Action data_verify(CLI::App& app) {
  auto options = add_options(app);
  app.footer("Example:\n  lockring data verify --json");
  return [options] { return verify(*options); };
}

}  // namespace lockring::app
