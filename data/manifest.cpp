#include "data/manifest.h"

#include "core/error.h"
#include "core/files.h"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace lockring::data {
namespace {

// Keeps the order of the keys: people read this file.
using Json = nlohmann::ordered_json;

// Raised when an older program could not read what a newer one writes.
constexpr int kFormat = 2;
constexpr const char* kFileName = "manifest.json";
constexpr std::size_t kFewestFiles = 4;

Json to_json(const SplitCounts& split) { return {{"images", split.images}, {"per_class", split.per_class}}; }

SplitCounts split_from(const Json& json) { return {json.at("images"), json.at("per_class")}; }

Json to_json(const ImageSizes& sizes) {
  return {{"least_height", sizes.least_height},
          {"most_height", sizes.most_height},
          {"least_width", sizes.least_width},
          {"most_width", sizes.most_width},
          {"channels", sizes.channels}};
}

ImageSizes sizes_from(const Json& json) {
  return {json.at("least_height"), json.at("most_height"), json.at("least_width"), json.at("most_width"),
          json.at("channels")};
}

Json to_json(const StoredFile& file) { return {{"name", file.name}, {"bytes", file.bytes}, {"sha256", file.checksum}}; }

StoredFile file_from(const Json& json) { return {json.at("name"), json.at("bytes"), json.at("sha256")}; }

// A missing key or a value of another type throws, which read_manifest turns into an Error.
Manifest manifest_from(const Json& json) {
  Manifest manifest;
  manifest.name = json.at("name");
  manifest.digest = json.at("digest");
  manifest.source = json.at("source");
  manifest.source_stamp = json.at("source_stamp");
  manifest.ingested_utc = json.at("ingested_utc");
  manifest.classes = json.at("classes");
  manifest.sizes = sizes_from(json.at("sizes"));
  manifest.statistics.mean = json.at("mean").get<std::vector<float>>();
  manifest.statistics.deviation = json.at("deviation").get<std::vector<float>>();
  manifest.train = split_from(json.at("train"));
  manifest.test = split_from(json.at("test"));
  manifest.test_choice = json.at("test_choice");
  manifest.warning = json.at("warning");
  for (const Json& file : json.at("files")) manifest.files.push_back(file_from(file));
  return manifest;
}

// What the rest of the program relies on.
void check_manifest(const Manifest& manifest, const std::filesystem::path& path) {
  const ImageSizes& sizes = manifest.sizes;
  const auto plain = [](const StoredFile& file) { return file.name.find('/') == std::string::npos; };
  const bool whole = std::ranges::all_of(manifest.files, plain) && manifest.files.size() >= kFewestFiles &&
                     sizes.channels > 0 && sizes.least_height > 0 && sizes.least_width > 0 &&
                     manifest.train.per_class.size() == manifest.classes.size() &&
                     manifest.test.per_class.size() == manifest.classes.size() &&
                     manifest.statistics.mean.size() == static_cast<std::size_t>(sizes.channels) &&
                     manifest.statistics.deviation.size() == manifest.statistics.mean.size();
  check(whole, ErrorCode::data, "{}: damaged manifest: its parts do not fit together", path.string());
}

}  // namespace

std::int64_t Manifest::bytes() const {
  std::int64_t sum = 0;
  for (const StoredFile& file : files) sum += file.bytes;
  return sum;
}

Manifest read_manifest(const std::filesystem::path& directory) {
  const std::filesystem::path path = directory / kFileName;
  const std::string text = read_file(path);
  try {
    const Json json = Json::parse(text);
    const int format = json.at("format");
    check(format == kFormat, ErrorCode::data, "{}: expected format {}, found {}: ingest the data set again",
          path.string(), kFormat, format);
    Manifest manifest = manifest_from(json);
    check_manifest(manifest, path);
    return manifest;
  } catch (const Json::exception& error) {
    fail(ErrorCode::data, "{}: damaged manifest: {}", path.string(), error.what());
  }
}

void write_manifest(const std::filesystem::path& directory, const Manifest& manifest) {
  Json json = {{"format", kFormat},
               {"name", manifest.name},
               {"digest", manifest.digest},
               {"source", manifest.source},
               {"source_stamp", manifest.source_stamp},
               {"ingested_utc", manifest.ingested_utc},
               {"classes", manifest.classes},
               {"sizes", to_json(manifest.sizes)},
               {"mean", manifest.statistics.mean},
               {"deviation", manifest.statistics.deviation},
               {"train", to_json(manifest.train)},
               {"test", to_json(manifest.test)},
               {"test_choice", manifest.test_choice},
               {"warning", manifest.warning},
               {"files", Json::array()}};
  for (const StoredFile& file : manifest.files) json["files"].push_back(to_json(file));
  // Paths may hold bytes that are not UTF-8; those are replaced, the manifest stays readable.
  write_file(directory / kFileName, json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
}

}  // namespace lockring::data
