#include "data/ingest.h"

#include "core/error.h"
#include "core/files.h"
#include "core/text.h"
#include "data/catalog.h"
#include "data/class_names.h"
#include "data/dataset_store.h"
#include "data/download.h"
#include "data/file_lock.h"
#include "data/raw_dataset.h"
#include "data/source.h"
#include "data/store_content.h"

#include <fmt/chrono.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <utility>

namespace lockring::data {
namespace {

namespace fs = std::filesystem;

// Published files of labels are far smaller.
constexpr std::uintmax_t kMostLabelFile = 1 << 20;

// A folder that vanishes unless it is renamed to something.
class TemporaryFolder {
 public:
  explicit TemporaryFolder(fs::path path) : path_(std::move(path)) { fs::create_directories(path_); }
  ~TemporaryFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

std::string utc_now() { return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr))); }

void tell(const Notice& notice, const std::string& text) {
  if (notice) notice(text);
}

// Reads all of it: a version that is called whole has been compared with its checksums, just now.
bool is_whole(const fs::path& directory, const Manifest& manifest) {
  try {
    for (const StoredFile& file : manifest.files) check_stored_file(directory, file);
    return true;
  } catch (const Error&) {
    return false;  // the caller replaces it
  }
}

// One more than the largest label.
std::size_t classes_in_use(const RawDataset& raw) {
  std::size_t most = 0;
  for (const SplitIndex split : kSplits)
    most = std::max<std::size_t>(most, std::ranges::max(raw.labels(split).values<std::uint8_t>()));
  return most + 1;
}

// The work on one data set, under its lock.
class Ingestion {
 public:
  explicit Ingestion(const IngestOptions& options)
      : options_(options), folder_(dataset_folder(options.data_dir, options.name)) {}

  IngestReport run();

 private:
  // The same one for the same URL, so that a broken download goes on where it stopped.
  fs::path download_folder() const { return folder_ / (".download-" + sha256(source_.name).substr(0, kVersionDigits)); }
  void remove_leftovers() const;
  std::string stamp(const RawDataset* raw) const;
  bool unchanged(const std::string& stamp, IngestReport& report) const;
  IngestReport take_in(RawDataset& raw, const std::string& stamp) const;
  IngestReport take_in_remote(const std::string& stamp) const;
  void download_class_names(const fs::path& folder) const;
  SurveyOptions survey_options() const;
  ContentMarks marks(const RawDataset& raw, const std::string& digest) const;
  std::vector<std::string> assumed_classes(const RawDataset& raw, const KnownDataset* content) const;
  void check_digest(const std::string& digest) const;
  std::string identify(const std::string& digest, const KnownDataset* content) const;
  void count_classes(const RawDataset& raw, Manifest& manifest) const;
  void finish(const fs::path& made, IngestReport& report) const;

  const IngestOptions& options_;
  fs::path folder_;
  Source source_;
};

// The quick way out first; then read, identify, store, and only at the end point to the result.
IngestReport Ingestion::run() {
  fs::create_directories(folder_);
  const FileLock lock(folder_ / ".lock",
                      [this] { tell(options_.notice, "waiting for another process that ingests " + options_.name); });
  remove_leftovers();
  source_ = find_source(options_.source, options_.name);
  const std::unique_ptr<RawDataset> raw = source_.remote ? nullptr : recognise(source_.path());
  const std::string stamp = this->stamp(raw.get());
  IngestReport report;
  if (unchanged(stamp, report)) return report;
  report = raw != nullptr ? take_in(*raw, stamp) : take_in_remote(stamp);
  set_current_version(folder_, report.directory.filename().string());
  if (source_.remote) fs::remove_all(download_folder());
  return report;
}

// What a process that was killed left behind; nobody else is at work while we hold the lock.
void Ingestion::remove_leftovers() const {
  std::vector<fs::path> leftovers;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder_))
    if (entry.path().filename().string().starts_with(".new-")) leftovers.push_back(entry.path());
  for (const fs::path& path : leftovers) fs::remove_all(path);
}

// What tells a source from a changed one without reading it. A URL is taken to serve what it served before: asking
// would need the network, and the digest guards the rest.
std::string Ingestion::stamp(const RawDataset* raw) const {
  std::string text =
      fmt::format("{}\ntest fraction {}, seed {}\n", source_.name, options_.test_fraction.value_or(-1), options_.seed);
  if (raw != nullptr)
    for (const fs::path& path : raw->files())
      text += fmt::format("{}\n{} {}\n", path.string(), fs::file_size(path),
                          std::chrono::nanoseconds(fs::last_write_time(path).time_since_epoch()).count());
  return sha256(text);
}

// True, with the report filled in, when the current version was made from this very source and is whole.
bool Ingestion::unchanged(const std::string& stamp, IngestReport& report) const {
  if (!fs::exists(folder_ / "current")) return false;
  try {
    report.directory = find_version(options_.data_dir, options_.name);
    report.manifest = read_manifest(report.directory);
  } catch (const Error&) {
    return false;
  }
  const Manifest& manifest = report.manifest;
  if (manifest.source_stamp != stamp || !is_whole(report.directory, manifest)) return false;
  check_digest(manifest.digest);
  if (!manifest.warning.empty()) tell(options_.warning, manifest.warning);
  report.already_there = true;
  report.reason = source_.remote ? fmt::format("it was downloaded from {} at {}", source_.name, manifest.ingested_utc)
                                 : fmt::format("the files in {} are those ingested at {} (same sizes and times)",
                                               source_.name, manifest.ingested_utc);
  return true;
}

// Known data sets have known classes. A server that has no such file may answer with anything.
void Ingestion::download_class_names(const fs::path& folder) const {
  if (find_known_dataset(options_.name) != nullptr) return;
  const fs::path file = folder / kClassFile;
  try {
    const bool there = download_if_there(source_.name, folder, kClassFile, options_.progress);
    if (there && read_file(file).starts_with('<')) fs::remove(file);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::data) throw;
    tell(options_.notice, fmt::format("classes are numbered: {}", error.what()));
  }
}

// What was downloaded and found bad is thrown away, so that the next attempt starts afresh.
IngestReport Ingestion::take_in_remote(const std::string& stamp) const {
  const fs::path folder = download_folder();
  fs::create_directories(folder);
  download_files(source_.name, folder, options_.progress);
  download_class_names(folder);
  try {
    return take_in(*recognise(folder), stamp);
  } catch (const Error& error) {
    fs::remove_all(folder);
    fail(error.code(), "downloaded from {}: {}", source_.name, error.what());
  }
}

SurveyOptions Ingestion::survey_options() const {
  SurveyOptions survey;
  if (const KnownDataset* known = find_known_dataset(options_.name)) survey.most_classes = std::ssize(known->classes);
  survey.test_fraction = options_.test_fraction;
  survey.seed = options_.seed;
  survey.progress = options_.progress;
  survey.notice = options_.notice;
  return survey;
}

// Under a temporary name until it is whole and on the disk.
IngestReport Ingestion::take_in(RawDataset& raw, const std::string& stamp) const {
  raw.survey(survey_options());
  const TemporaryFolder temporary(folder_ / fmt::format(".new-{}", getpid()));
  StoredContent content = store_content(raw, temporary.path(), options_.progress);
  IngestReport report;
  Manifest& manifest = report.manifest;
  manifest.name = options_.name;
  manifest.source = source_.name;
  manifest.source_stamp = stamp;
  manifest.ingested_utc = utc_now();
  manifest.sizes = raw.sizes();
  manifest.statistics = content.statistics;
  manifest.test_choice = raw.test_choice();
  manifest.files = std::move(content.files);

  const KnownDataset* known = find_known_content(marks(raw, content.digest));
  manifest.classes = assumed_classes(raw, known);
  std::vector<std::string> given;
  if (!raw.classes().empty() && raw.classes() != manifest.classes) {
    manifest.classes = given = raw.classes();
    manifest.files.push_back(store_class_names(temporary.path(), given));
  }
  manifest.digest = dataset_digest(content.digest, given);
  check_digest(manifest.digest);
  manifest.warning = identify(content.digest, known);
  if (!manifest.warning.empty()) tell(options_.warning, manifest.warning);
  count_classes(raw, manifest);
  finish(temporary.path(), report);
  return report;
}

ContentMarks Ingestion::marks(const RawDataset& raw, const std::string& digest) const {
  ContentMarks marks;
  marks.digest = digest;
  const fs::path& labels = raw.label_file();
  if (!labels.empty() && fs::file_size(labels) <= kMostLabelFile) marks.label_file = sha256(read_file(labels));
  marks.train_per_class = count_labels(raw.labels(kTrain), classes_in_use(raw));
  marks.test_per_class = count_labels(raw.labels(kTest), classes_in_use(raw));
  return marks;
}

// The names that the content or the name of the data set brings with it; otherwise numbers.
std::vector<std::string> Ingestion::assumed_classes(const RawDataset& raw, const KnownDataset* content) const {
  for (const KnownDataset* known : {content, find_known_dataset(options_.name)})
    if (known != nullptr && known->classes.size() >= classes_in_use(raw)) return known->classes;
  return numbered_classes(classes_in_use(raw));
}

void Ingestion::check_digest(const std::string& digest) const {
  const std::string& expected = options_.expect_digest;
  check(expected.empty() || (expected.size() >= kVersionDigits && digest.starts_with(expected)), ErrorCode::data,
        "data set '{}': expected content digest {}, found {}", options_.name, expected, digest);
}

// Files of one set under the name of another train well and mean nothing: that is worth a warning, which is returned.
// Anything unknown is only a notice.
std::string Ingestion::identify(const std::string& digest, const KnownDataset* content) const {
  const KnownDataset* name = find_known_dataset(options_.name);
  if (content != nullptr && content == name) return {};
  if (content != nullptr && name != nullptr)
    return fmt::format(
        "these are the files of {}, stored under the name {}: what a model scores on them says nothing "
        "about {}",
        content->name, name->name, name->name);
  if (content != nullptr)
    tell(options_.notice,
         fmt::format("the files are those of {}, stored under the name {}", content->name, options_.name));
  else if (name != nullptr && !name->marks.digest.empty())
    tell(options_.notice, fmt::format("this is not the published {}: expected content digest {}, found {}", name->name,
                                      name->marks.digest, digest));
  else
    tell(options_.notice, "the content is not that of a known data set");
  return {};
}

// A class that is only tested is a mistake, one that is only trained perhaps not.
void Ingestion::count_classes(const RawDataset& raw, Manifest& manifest) const {
  const std::size_t classes = manifest.classes.size();
  manifest.train = {raw.labels(kTrain).size(0), count_labels(raw.labels(kTrain), classes)};
  manifest.test = {raw.labels(kTest).size(0), count_labels(raw.labels(kTest), classes)};
  std::vector<std::string> untrained;
  std::vector<std::string> untested;
  for (std::size_t label = 0; label < classes; ++label) {
    const std::string& name = manifest.classes[label];
    const std::int64_t trained = manifest.train.per_class[label];
    const std::int64_t tested = manifest.test.per_class[label];
    check(trained > 0 || tested == 0, ErrorCode::data,
          "class '{}' (label {}) has {} test images but no training images", name, label, tested);
    if (trained == 0)
      untrained.push_back(name);
    else if (tested == 0)
      untested.push_back(name);
  }
  if (!untrained.empty()) tell(options_.notice, "classes without any image: " + joined(untrained));
  if (!untested.empty()) tell(options_.notice, "classes without test images: " + joined(untested));
}

// Makes the version visible, unless it is there already.
void Ingestion::finish(const fs::path& made, IngestReport& report) const {
  const std::string version = report.manifest.digest.substr(0, kVersionDigits);
  report.directory = folder_ / version;
  if (fs::exists(report.directory)) {
    try {
      Manifest there = read_manifest(report.directory);
      if (is_whole(report.directory, there)) {
        report.manifest = std::move(there);
        report.already_there = true;
        report.reason = fmt::format("content with digest {} was ingested before", version);
        return;
      }
    } catch (const Error&) {
      // The manifest is damaged, too, or of an older format.
    }
    tell(options_.notice, fmt::format("{} was damaged and is replaced", report.directory.string()));
  }
  write_manifest(made, report.manifest);
  // A damaged version of the same content makes way, and vanishes with `old`.
  const TemporaryFolder old(folder_ / fmt::format(".new-{}-old", getpid()));
  if (fs::exists(report.directory)) fs::rename(report.directory, old.path());
  fs::rename(made, report.directory);
}

}  // namespace

IngestReport ingest(const IngestOptions& options) {
  try {
    return Ingestion(options).run();
  } catch (const fs::filesystem_error& error) {
    fail(ErrorCode::data, "{}", error.what());
  }
}

}  // namespace lockring::data
