// Small files for tests of data: IDX, gzip, and whole data sets of a few images.
#pragma once

#include "data/content.h"

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace lockring::data {

// An IDX file of unsigned bytes: element i is `first + i * step`, modulo 256.
std::string idx_file(const std::vector<std::uint32_t>& sizes, int first = 0, int step = 1);
// An IDX file of `count` labels that go through the ten classes in turn.
std::string label_file(std::uint32_t count);
std::string gzip(std::string_view content);

void write(const std::filesystem::path& path, std::string_view content);
void flip_bit(const std::filesystem::path& path, std::size_t byte, int bit = 0);

// The four files of a data set of 30 + 20 images of 6 x 5, in the order of kFileNames; `variant` changes the pixels.
std::vector<std::string> small_dataset(int variant = 0);
// The four files of a data set of one pixel an image with so many images of each class.
std::vector<std::string> labelled_dataset(const std::vector<std::int64_t>& train,
                                          const std::vector<std::int64_t>& test);
// Makes `folder` and writes them there under their usual names, compressed or not.
void write_dataset(const std::filesystem::path& folder, const std::vector<std::string>& files, bool compressed = false);

}  // namespace lockring::data
