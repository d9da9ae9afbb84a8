// lockring data ingest, info and verify: from raw files to a stored, checked data set.
#include "apps/command.h"
#include "apps/data_options.h"
#include "apps/progress.h"
#include "apps/terminal.h"
#include "core/text.h"
#include "data/dataset_store.h"
#include "data/ingest.h"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <memory>
#include <optional>

namespace lockring::app {
namespace {

using Json = nlohmann::ordered_json;

struct Options : DataOptions {
  std::string source;
  std::string expect_digest;
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

 private:
  ProgressStyle style_;
  std::string file_;
  std::optional<ProgressLine> bar_;
};

Json split_json(const data::SplitCounts& split) { return {{"images", split.images}, {"per_class", split.per_class}}; }

Json dataset_json(const std::filesystem::path& directory, const data::Manifest& manifest) {
  return {
      {"name", manifest.name},
      {"digest", manifest.digest},
      {"directory", directory.string()},
      {"source", manifest.source},
      {"ingested_utc", manifest.ingested_utc},
      {"image", {{"height", manifest.height}, {"width", manifest.width}, {"channels", manifest.channels}}},
      {"classes", manifest.classes},
      {"train", split_json(manifest.train)},
      {"test", split_json(manifest.test)},
  };
}

std::string size_text(const data::Manifest& manifest) {
  return fmt::format("{} training and {} test images, {} x {} x {}, {} classes", with_thousands(manifest.train.images),
                     with_thousands(manifest.test.images), manifest.height, manifest.width, manifest.channels,
                     manifest.classes.size());
}

int ingest(const Options& options) {
  FileBars bars(options.quiet);
  const data::IngestReport report = data::ingest({
      .source = options.source,
      .name = options.dataset,
      .data_dir = options.directory(),
      .expect_digest = options.expect_digest,
      .progress = [&](std::string_view file, std::int64_t done, std::int64_t total) { bars.update(file, done, total); },
      .notice = [&](const std::string& text) { bars.line("note: " + text); },
  });
  if (options.json) {
    Json json = dataset_json(report.directory, report.manifest);
    json["already_there"] = report.already_there;
    json["reason"] = report.reason;
    print("{}\n", json.dump(2));
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

int info(const Options& options) {
  const data::DatasetInfo info = data::dataset_info(options.directory(), options.dataset);
  if (options.json) {
    Json json = dataset_json(info.directory, info.manifest);
    json["versions"] = info.versions;
    print("{}\n", json.dump(2));
    return 0;
  }
  const data::Manifest& manifest = info.manifest;
  print("{}: {}\n", manifest.name, size_text(manifest));
  print("  digest     {}\n  directory  {}\n  source     {}\n  ingested   {}\n  versions   {}\n", manifest.digest,
        info.directory.string(), manifest.source, manifest.ingested_utc, joined(info.versions));
  print_classes(manifest);
  return 0;
}

int verify(const Options& options) {
  const data::DatasetInfo info = data::verify_dataset(options.directory(), options.dataset);
  std::int64_t bytes = 0;
  for (const data::StoredFile& file : info.manifest.files) bytes += file.bytes;
  if (options.json) {
    Json json = dataset_json(info.directory, info.manifest);
    json["bytes"] = bytes;
    json["whole"] = true;
    print("{}\n", json.dump(2));
    return 0;
  }
  print("{}: whole, {} in {} files\n  digest {}\n  {}\n", info.manifest.name, bytes_text(static_cast<double>(bytes)),
        info.manifest.files.size(), info.manifest.digest, info.directory.string());
  return 0;
}

}  // namespace

Action data_ingest(CLI::App& app) {
  auto options = add_options(app);
  app.add_option("--source", options->source, "folder or URL of the four IDX files, plain or gzip")
      ->type_name("DIR|URL");
  app.add_option("--expect-digest", options->expect_digest, "refuse content with another SHA-256 digest")
      ->type_name("HEX");
  app.add_flag("-q,--quiet", options->quiet, "print nothing but the result");
  app.footer(
      "Without --source, the files of the system's package dataset-fashion-mnist, else a download.\n\n"
      "Examples:\n  lockring data ingest\n  lockring data ingest --dataset digits --source ~/mnist");
  return [options] { return ingest(*options); };
}

Action data_info(CLI::App& app) {
  auto options = add_options(app);
  app.footer("Example:\n  lockring data info --dataset fashion-mnist");
  return [options] { return info(*options); };
}

Action data_verify(CLI::App& app) {
  auto options = add_options(app);
  app.footer("Example:\n  lockring data verify --json");
  return [options] { return verify(*options); };
}

}  // namespace lockring::app
