#include "data/source.h"

#include "core/error.h"
#include "core/text.h"
#include "data/catalog.h"

#include <cstdlib>
#include <optional>
#include <sstream>
#include <vector>

namespace lockring::data {
namespace {

namespace fs = std::filesystem;

// Some publishers write "train-images.idx3-ubyte".
std::vector<std::string> spellings(std::string_view name) {
  const std::string usual(name);
  std::string dotted = usual;
  dotted[dotted.rfind("-idx")] = '.';
  return {usual, usual + ".gz", dotted, dotted + ".gz"};
}

// The first spelling that is there: the plain file before the compressed one.
std::optional<fs::path> find_file(const fs::path& folder, std::string_view name) {
  for (const std::string& spelling : spellings(name))
    if (fs::is_regular_file(folder / spelling)) return folder / spelling;
  return std::nullopt;
}

// All four or an error that lists what is missing.
Source folder_source(const fs::path& folder) {
  check(fs::exists(folder), ErrorCode::data, "source {}: no such folder", folder.string());
  check(fs::is_directory(folder), ErrorCode::data, "source {}: expected a folder of the four IDX files, found a file",
        folder.string());
  Source source{fs::canonical(folder).string(), false, {}};
  std::vector<std::string> missing;
  for (std::size_t i = 0; i < kFileNames.size(); ++i) {
    const std::optional<fs::path> file = find_file(source.name, kFileNames[i]);
    if (file)
      source.files[i] = *file;
    else
      missing.emplace_back(kFileNames[i]);
  }
  check(missing.empty(), ErrorCode::data, "source {}: missing {} (plain or with .gz)", folder.string(),
        joined(missing));
  return source;
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
    return {text, true, {}};
  }
  if (!text.empty()) return folder_source(text);
  std::string looked;
  for (const fs::path& place : known_places(dataset)) {
    if (find_file(place, kFileNames[0])) return folder_source(place);
    looked += (looked.empty() ? "" : ", ") + place.string();
  }
  const KnownDataset* known = find_known_dataset(dataset);
  check(known != nullptr, ErrorCode::data, "data set '{}' is in none of {}: name a folder or URL with --source",
        dataset, looked);
  return {known->url, true, {}};
}

}  // namespace lockring::data
