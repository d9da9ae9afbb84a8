// What is counted and measured of a data set's content.
#pragma once

#include "core/tensor.h"

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string_view>
#include <vector>

namespace lockring::data {

// The usual names of the four files of a set in IDX format, in the order of every array of four here; sources may add
// ".gz".
inline constexpr std::array<std::string_view, 4> kFileNames = {"train-images-idx3-ubyte", "train-labels-idx1-ubyte",
                                                               "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"};
using FilePaths = std::array<std::filesystem::path, 4>;

// Told how far the work on a file is, in bytes; what it throws stops the work. `file` may also name a group of files.
using FileProgress = std::function<void(std::string_view file, std::int64_t done, std::int64_t total)>;

// Mean and standard deviation of the training images by channel, of bytes scaled to [0, 1].
struct ChannelStatistics {
  std::vector<float> mean;
  std::vector<float> deviation;
};

// [n, h, w, c], sharing memory: an image file of three dimensions has one channel.
Tensor as_images(const Tensor& values);
std::vector<std::int64_t> count_labels(const Tensor& labels, std::size_t classes);

}  // namespace lockring::data
