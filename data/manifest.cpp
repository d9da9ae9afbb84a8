#include "data/manifest.h"

#include "core/error.h"
#include "core/files.h"

#include <nlohmann/json.hpp>

namespace lockring::data {
namespace {

// Keeps the order of the keys: people read this file.
using Json = nlohmann::ordered_json;

// Raised when an older program could not read what a newer one writes.
constexpr int kFormat = 1;
constexpr const char* kFileName = "manifest.json";

Json to_json(const SplitCounts& split) { return {{"images", split.images}, {"per_class", split.per_class}}; }

SplitCounts split_from(const Json& json) { return {json.at("images"), json.at("per_class")}; }

Json to_json(const StoredFile& file) {
  return {{"name", file.name},
          {"bytes", file.bytes},
          {"sha256", file.checksum},
          {"source", file.source},
          {"source_bytes", file.source_bytes},
          {"source_time", file.source_time}};
}

StoredFile file_from(const Json& json) {
  return {json.at("name"),   json.at("bytes"),        json.at("sha256"),
          json.at("source"), json.at("source_bytes"), json.at("source_time")};
}

// A missing key or a value of another type throws, which read_manifest turns into an Error.
Manifest manifest_from(const Json& json) {
  Manifest manifest;
  manifest.name = json.at("name");
  manifest.digest = json.at("digest");
  manifest.source = json.at("source");
  manifest.ingested_utc = json.at("ingested_utc");
  manifest.classes = json.at("classes");
  manifest.height = json.at("height");
  manifest.width = json.at("width");
  manifest.channels = json.at("channels");
  manifest.statistics.mean = json.at("mean").get<std::vector<float>>();
  manifest.statistics.deviation = json.at("deviation").get<std::vector<float>>();
  manifest.train = split_from(json.at("train"));
  manifest.test = split_from(json.at("test"));
  for (std::size_t i = 0; i < manifest.files.size(); ++i) manifest.files[i] = file_from(json.at("files").at(i));
  return manifest;
}

}  // namespace

Manifest read_manifest(const std::filesystem::path& directory) {
  const std::filesystem::path path = directory / kFileName;
  const std::string text = read_file(path);
  try {
    const Json json = Json::parse(text);
    const int format = json.at("format");
    check(format == kFormat, ErrorCode::data, "{}: expected format {}, found {}: ingest the data set again",
          path.string(), kFormat, format);
    return manifest_from(json);
  } catch (const Json::exception& error) {
    fail(ErrorCode::data, "{}: damaged manifest: {}", path.string(), error.what());
  }
}

void write_manifest(const std::filesystem::path& directory, const Manifest& manifest) {
  Json json = {{"format", kFormat},
               {"name", manifest.name},
               {"digest", manifest.digest},
               {"source", manifest.source},
               {"ingested_utc", manifest.ingested_utc},
               {"classes", manifest.classes},
               {"height", manifest.height},
               {"width", manifest.width},
               {"channels", manifest.channels},
               {"mean", manifest.statistics.mean},
               {"deviation", manifest.statistics.deviation},
               {"train", to_json(manifest.train)},
               {"test", to_json(manifest.test)},
               {"files", Json::array()}};
  for (const StoredFile& file : manifest.files) json["files"].push_back(to_json(file));
  // Paths may hold bytes that are not UTF-8; those are replaced, the manifest stays readable.
  write_file(directory / kFileName, json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
}

}  // namespace lockring::data
