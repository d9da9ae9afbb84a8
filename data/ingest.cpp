#include "data/ingest.h"

#include "core/error.h"
#include "core/files.h"
#include "data/catalog.h"
#include "data/dataset_store.h"
#include "data/download.h"
#include "data/file_lock.h"
#include "data/source.h"

#include <fmt/chrono.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <span>
#include <utility>

namespace lockring::data {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kVersionDigits = 16;

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

// What tells a source file from a changed one without reading it.
StoredFile source_stamp(const fs::path& path) {
  StoredFile file;
  file.source = path.string();
  file.source_bytes = static_cast<std::int64_t>(fs::file_size(path));
  file.source_time = std::chrono::nanoseconds(fs::last_write_time(path).time_since_epoch()).count();
  return file;
}

// A URL is taken to serve what it served before: asking would need the network, and the digest guards the rest.
bool same_source(const Manifest& manifest, const Source& source) {
  if (manifest.source != source.name) return false;
  if (source.remote) return true;
  for (std::size_t i = 0; i < source.files.size(); ++i) {
    const StoredFile now = source_stamp(source.files[i]);
    const StoredFile& then = manifest.files[i];
    if (now.source != then.source || now.source_bytes != then.source_bytes || now.source_time != then.source_time)
      return false;
  }
  return true;
}

// The work on one data set, under its lock.
class Ingestion {
 public:
  explicit Ingestion(const IngestOptions& options)
      : options_(options), folder_(dataset_folder(options.data_dir, options.name)) {}

  IngestReport run();

 private:
  void notice(const std::string& text) const {
    if (options_.notice) options_.notice(text);
  }
  // The same one for the same URL, so that a broken download goes on where it stopped.
  fs::path download_folder(const Source& source) const {
    return folder_ / (".download-" + sha256(source.name).substr(0, kVersionDigits));
  }
  void remove_leftovers() const;
  bool whole(const fs::path& directory) const;
  void check_identity(const std::string& digest) const;
  bool unchanged(const Source& source, IngestReport& report) const;
  Content fetch(Source& source, const std::vector<std::string>& classes) const;
  Manifest describe(const Content& content, const Source& source, const std::string& digest) const;
  void store(const Content& content, const Manifest& manifest, const fs::path& target) const;

  const IngestOptions& options_;
  fs::path folder_;
};

// The quick way out first; then read, identify, store, and only at the end point to the result.
IngestReport Ingestion::run() {
  fs::create_directories(folder_);
  const FileLock lock(folder_ / ".lock",
                      [this] { notice("waiting for another process that ingests " + options_.name); });
  remove_leftovers();
  Source source = find_source(options_.source, options_.name);
  IngestReport report;
  if (unchanged(source, report)) return report;

  const Content content = fetch(source, class_names(options_.name));
  const std::string digest = content_digest(content);
  check_identity(digest);
  const std::string version = digest.substr(0, kVersionDigits);
  report.directory = folder_ / version;
  if (whole(report.directory)) {
    report.already_there = true;
    report.reason = fmt::format("content with digest {} was ingested before", version);
    report.manifest = read_manifest(report.directory);
  } else {
    if (fs::exists(report.directory)) notice(fmt::format("{} was damaged and is replaced", report.directory.string()));
    report.manifest = describe(content, source, digest);
    store(content, report.manifest, report.directory);
  }
  set_current_version(folder_, version);
  if (source.remote) fs::remove_all(download_folder(source));
  return report;
}

// What a process that was killed left behind; nobody else is at work while we hold the lock.
void Ingestion::remove_leftovers() const {
  std::vector<fs::path> leftovers;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder_))
    if (entry.path().filename().string().starts_with(".new-")) leftovers.push_back(entry.path());
  for (const fs::path& path : leftovers) fs::remove_all(path);
}

// Reads all of it: a version that is called whole has been compared with its checksums, just now.
bool Ingestion::whole(const fs::path& directory) const {
  if (!fs::exists(directory)) return false;
  try {
    read_stored(directory, read_manifest(directory));
    return true;
  } catch (const Error&) {
    return false;  // the caller replaces it
  }
}

// Files of one set under the name of another train well and mean nothing: a contradiction between two known sets is an
// error, anything unknown only a notice.
void Ingestion::check_identity(const std::string& digest) const {
  const std::string& expected = options_.expect_digest;
  check(expected.empty() || (expected.size() >= kVersionDigits && digest.starts_with(expected)), ErrorCode::data,
        "data set '{}': expected content digest {}, found {}", options_.name, expected, digest);
  const KnownDataset* content = find_known_digest(digest);
  const KnownDataset* name = find_known_dataset(options_.name);
  if (content != nullptr && content->name == options_.name) return;
  if (content != nullptr) {
    check(name == nullptr, ErrorCode::data, "these files are {}, not {}: expected another content digest than {}",
          content->name, options_.name, digest);
    notice(fmt::format("the files are those of {}, stored under the name {}", content->name, options_.name));
  } else if (name != nullptr && !name->digest.empty()) {
    notice(fmt::format("this is not the published {}: expected content digest {}, found {}", name->name, name->digest,
                       digest));
  } else {
    notice(fmt::format("the content digest {} is not a known one", digest));
  }
}

// True, with the report filled in, when the current version was made from this very source and is whole.
bool Ingestion::unchanged(const Source& source, IngestReport& report) const {
  if (!fs::exists(folder_ / "current")) return false;
  try {
    report.directory = current_version(options_.data_dir, options_.name);
    report.manifest = read_manifest(report.directory);
  } catch (const Error&) {
    return false;
  }
  if (!same_source(report.manifest, source) || !whole(report.directory)) return false;
  check_identity(report.manifest.digest);
  report.already_there = true;
  report.reason = source.remote
                      ? fmt::format("it was downloaded from {} at {}", source.name, report.manifest.ingested_utc)
                      : fmt::format("the files in {} are those ingested at {} (same sizes and times)", source.name,
                                    report.manifest.ingested_utc);
  return true;
}

// What was downloaded and found bad is thrown away, so that the next attempt starts afresh.
Content Ingestion::fetch(Source& source, const std::vector<std::string>& classes) const {
  const auto count = static_cast<std::int64_t>(classes.size());
  if (!source.remote) return read_content(source.files, count, options_.progress);
  const fs::path folder = download_folder(source);
  fs::create_directories(folder);
  source.files = download_files(source.name, folder, options_.progress);
  try {
    return read_content(source.files, count);
  } catch (const Error& error) {
    fs::remove_all(folder);
    fail(error.code(), "downloaded from {}: {}", source.name, error.what());
  }
}

// Everything about the content that is worth knowing without reading it.
Manifest Ingestion::describe(const Content& content, const Source& source, const std::string& digest) const {
  const KnownDataset* known = find_known_digest(digest);
  Manifest manifest;
  manifest.name = options_.name;
  manifest.digest = digest;
  manifest.source = source.name;
  manifest.ingested_utc = utc_now();
  manifest.classes = known != nullptr ? known->classes : class_names(options_.name);
  const Tensor images = as_images(content[0]);
  manifest.height = images.size(1);
  manifest.width = images.size(2);
  manifest.channels = images.size(3);
  manifest.statistics = channel_statistics(images);
  const auto classes = static_cast<std::int64_t>(manifest.classes.size());
  manifest.train = {content[0].size(0), count_labels(content[1], classes)};
  manifest.test = {content[2].size(0), count_labels(content[3], classes)};
  for (std::size_t i = 0; i < content.size(); ++i) {
    StoredFile& file = manifest.files[i];
    file = source_stamp(source.files[i]);
    if (source.remote) file.source = source.name + "/" + source.files[i].filename().string();
    file.name = kFileNames[i];
    file.bytes = static_cast<std::int64_t>(idx_header(content[i].shape()).size()) + content[i].bytes();
    file.checksum = file_checksum(content[i]);
  }
  return manifest;
}

// Under a temporary name until it is whole and on the disk.
void Ingestion::store(const Content& content, const Manifest& manifest, const fs::path& target) const {
  const TemporaryFolder temporary(folder_ / fmt::format(".new-{}", getpid()));
  for (std::size_t i = 0; i < content.size(); ++i) {
    AtomicFile file(temporary.path() / kFileNames[i]);
    file.write(idx_header(content[i].shape()));
    file.write(std::as_bytes(content[i].values<std::uint8_t>()));
    file.commit();
  }
  write_manifest(temporary.path(), manifest);
  // A damaged version of the same content makes way, and vanishes with `old`.
  const TemporaryFolder old(folder_ / fmt::format(".new-{}-old", getpid()));
  if (fs::exists(target)) fs::rename(target, old.path());
  fs::rename(temporary.path(), target);
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
