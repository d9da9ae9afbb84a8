// Which files an image folder is made of, found without reading any of them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace lockring::data {

// Files that were passed over.
struct IgnoredFiles {
  std::int64_t count = 0;
  std::filesystem::path first;

  void add(const std::filesystem::path& path) {
    if (count++ == 0) first = path;
  }
};

// The folders in a folder by their names, sorted: by number where all are numbers, else by bytes. Names that start with
// a dot are left out. Links are followed, here and below.
std::vector<std::string> class_folders(const std::filesystem::path& folder);

// The files of a class, at any depth, sorted by the bytes of their paths: those whose names end in .png, .jpg or .jpeg,
// in either case. Throws Error{data} on one of these that is not a file, and on a link back to a folder above it.
std::vector<std::filesystem::path> list_images(const std::filesystem::path& folder, IgnoredFiles& ignored);

// Whether a file's name ends as that of an image does.
bool has_image_name(const std::filesystem::path& path);

}  // namespace lockring::data
