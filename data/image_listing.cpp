#include "data/image_listing.h"

#include "core/error.h"

#include <sys/stat.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <utility>

namespace lockring::data {
namespace {

namespace fs = std::filesystem;

bool is_hidden(const fs::path& path) { return path.filename().string().starts_with('.'); }

bool is_number(const std::string& text) {
  return std::ranges::all_of(text, [](unsigned char c) { return std::isdigit(c) != 0; });
}

// Numbers of any length, without their leading zeros: the shorter is the smaller. Equal ones by their text.
auto number_key(const std::string& text) {
  const std::size_t zeros = std::min(text.find_first_not_of('0'), text.size());
  return std::tuple(text.size() - zeros, text.substr(zeros), text);
}

// What a folder is, under whatever path.
using FolderId = std::pair<dev_t, ino_t>;

FolderId id_of(const fs::path& folder) {
  struct stat status {};
  check(stat(folder.c_str(), &status) == 0, ErrorCode::data, "cannot read {}: {}", folder.string(),
        std::strerror(errno));
  return {status.st_dev, status.st_ino};
}

void collect(const fs::path& folder, std::vector<FolderId>& above, std::vector<fs::path>& images,
             IgnoredFiles& ignored) {
  const FolderId id = id_of(folder);
  check(std::ranges::find(above, id) == above.end(), ErrorCode::data, "{}: a link back to a folder that holds it",
        folder.string());
  above.push_back(id);
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    const fs::path& path = entry.path();
    if (is_hidden(path)) continue;
    if (entry.is_directory()) {
      collect(path, above, images, ignored);
    } else if (has_image_name(path)) {
      check(entry.is_regular_file(), ErrorCode::data, "{}: expected a file, found {}", path.string(),
            entry.exists() ? "something else" : "a link to nothing");
      images.push_back(path);
    } else {
      ignored.add(path);
    }
  }
  above.pop_back();
}

}  // namespace

std::vector<std::string> class_folders(const fs::path& folder) {
  std::vector<std::string> names;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder))
    if (!is_hidden(entry.path()) && entry.is_directory()) names.push_back(entry.path().filename().string());
  if (std::ranges::all_of(names, is_number))
    std::ranges::sort(names, {}, number_key);
  else
    std::ranges::sort(names);
  return names;
}

std::vector<fs::path> list_images(const fs::path& folder, IgnoredFiles& ignored) {
  std::vector<fs::path> images;
  std::vector<FolderId> above;
  collect(folder, above, images, ignored);
  // Not as paths, whose order goes part by part.
  std::ranges::sort(images, {}, &fs::path::native);
  return images;
}

bool has_image_name(const fs::path& path) {
  std::string ending = path.extension().string();
  std::ranges::transform(ending, ending.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return ending == ".png" || ending == ".jpg" || ending == ".jpeg";
}

}  // namespace lockring::data
