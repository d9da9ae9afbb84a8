#include "data/source.h"

#include "core/error.h"
#include "data/catalog.h"
#include "data/raw_dataset.h"

#include <cstdlib>
#include <sstream>
#include <vector>

namespace lockring::data {
namespace {

namespace fs = std::filesystem;

Source local_source(const fs::path& path) {
  if (fs::is_directory(path)) return {fs::canonical(path).string(), false};
  check(!fs::exists(path), ErrorCode::data,
        "source {}: expected a folder, found a file: if it is an archive, unpack it", path.string());
  const fs::path folder = path.has_parent_path() ? path.parent_path() : ".";
  check(fs::is_directory(folder) && find_idx_dataset(folder / path.filename()) != nullptr, ErrorCode::data,
        "source {}: no such folder", path.string());
  return {(fs::canonical(folder) / path.filename()).string(), false};
}

// The XDG specification: relative entries are to be ignored.
std::vector<fs::path> known_places(std::string_view dataset) {
  const char* variable = std::getenv("XDG_DATA_DIRS");
  std::istringstream folders(variable != nullptr && variable[0] != '\0' ? variable : "/usr/local/share:/usr/share");
  std::vector<fs::path> places;
  for (std::string folder; std::getline(folders, folder, ':');)
    if (folder.starts_with('/')) places.push_back(fs::path(folder) / "datasets" / dataset);
  return places;
}

}  // namespace

Source find_source(const std::string& text, std::string_view dataset) {
  if (text.find("://") != std::string::npos) {
    check(text.starts_with("http://") || text.starts_with("https://"),
          "source {}: expected a folder or a URL that starts with http:// or https://", text);
    return {text, true};
  }
  if (!text.empty()) return local_source(text);
  std::string looked;
  for (const fs::path& place : known_places(dataset)) {
    if (fs::is_directory(place) && find_idx_dataset(place) != nullptr) return local_source(place);
    looked += (looked.empty() ? "" : ", ") + place.string();
  }
  const KnownDataset* known = find_known_dataset(dataset);
  check(known != nullptr && !known->url.empty(), ErrorCode::data,
        "data set '{}' is in none of {}: name a folder or URL with --source", dataset, looked);
  return {known->url, true};
}

}  // namespace lockring::data
