// The content of a data set as its four IDX files give it, before and after it is stored.
#pragma once

#include "core/tensor.h"
#include "data/idx.h"

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace lockring::data {

// The usual names of the four files, in the order of every array of four here; sources may add ".gz".
inline constexpr std::array<std::string_view, 4> kFileNames = {"train-images-idx3-ubyte", "train-labels-idx1-ubyte",
                                                               "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"};
using FilePaths = std::array<std::filesystem::path, 4>;

// Told how far the work on a file is; what it throws stops the work.
using FileProgress = std::function<void(std::string_view file, std::int64_t done, std::int64_t total)>;

// u8 tensors with the sizes of the files: images [n, h, w] or [n, h, w, c], labels [n].
using Content = std::array<Tensor, 4>;

// Mean and standard deviation of the training images by channel, of bytes scaled to [0, 1].
struct ChannelStatistics {
  std::vector<float> mean;
  std::vector<float> deviation;
};

// Reads and checks the four files. Throws Error{data}, naming the file, on what idx.h rejects, images or labels in each
// other's place, counts that disagree, train and test in each other's place, and a label of `classes` or more.
Content read_content(const FilePaths& paths, std::int64_t classes, const FileProgress& progress = {});

// SHA-256 of the decompressed file: header and elements.
std::string file_checksum(const Tensor& values);
// SHA-256 of the four decompressed files, one after the other: what `cat` of them gives to `sha256sum`.
std::string content_digest(const Content& content);

// [n, h, w, c], sharing memory: an image file of three dimensions has one channel.
Tensor as_images(const Tensor& values);
// Exact sums of integers, so the same on every machine.
ChannelStatistics channel_statistics(const Tensor& images);
std::vector<std::int64_t> count_labels(const Tensor& labels, std::int64_t classes);

}  // namespace lockring::data
