#include "data/content.h"

#include "core/error.h"
#include "core/files.h"
#include "data/channel_histogram.h"

#include <algorithm>
#include <span>

namespace lockring::data {
namespace {

constexpr std::int64_t kMostChannels = 4;  // colours and alpha

// Swapped files are the likely mistake, so the messages ask about that first.
void check_images(const Tensor& images, const std::filesystem::path& path) {
  check(images.rank() != 1, ErrorCode::data,
        "{}: expected images (3 or 4 dimensions), found labels (1): swapped files?", path.string());
  check(images.rank() == 3 || (images.rank() == 4 && images.size(3) <= kMostChannels), ErrorCode::data,
        "{}: expected images of sizes [n, height, width] or [n, height, width, up to {} channels], found {}",
        path.string(), kMostChannels, to_string(images.shape()));
}

// Later, a label out of range would be a wrong address in a kernel, far from the file that holds it.
void check_labels(const Tensor& labels, std::int64_t classes, const std::filesystem::path& path) {
  check(labels.rank() == 1, ErrorCode::data, "{}: expected labels (1 dimension), found {} dimensions: swapped files?",
        path.string(), labels.rank());
  const std::span<const std::uint8_t> values = labels.values<std::uint8_t>();
  const auto wrong = std::ranges::find_if(values, [classes](std::uint8_t label) { return label >= classes; });
  if (wrong == values.end()) return;
  fail(ErrorCode::data, "{}: label {} (counted from 0): expected 0 to {}, found {}", path.string(),
       wrong - values.begin(), classes - 1, *wrong);
}

// What no file shows on its own.
void check_counts(const Content& content, const FilePaths& paths) {
  for (int split = 0; split < 4; split += 2)
    check(content[split].size(0) == content[split + 1].size(0), ErrorCode::data,
          "{} has {} images but {} has {} labels: files of different sets?", paths[split].string(),
          content[split].size(0), paths[split + 1].string(), content[split + 1].size(0));
  check(content[0].shape().with_leading(1) == content[2].shape().with_leading(1), ErrorCode::data,
        "{} has images of sizes {} but {} of {}", paths[0].string(), to_string(content[0].shape()), paths[2].string(),
        to_string(content[2].shape()));
  check(content[0].size(0) >= content[2].size(0), ErrorCode::data,
        "{} has {} images, fewer than the {} of {}: training and test files swapped?", paths[0].string(),
        content[0].size(0), content[2].size(0), paths[2].string());
}

// As the file would be uncompressed, so that gzip and plain sources give one digest.
void update_with_file(Sha256& digest, const Tensor& values) {
  digest.update(idx_header(values.shape()));
  digest.update(std::as_bytes(values.values<std::uint8_t>()));
}

}  // namespace

Content read_content(const FilePaths& paths, std::int64_t classes, const FileProgress& progress) {
  Content content;
  for (int i = 0; i < 4; ++i) {
    content[i] = read_idx(paths[i], [&](std::int64_t done, std::int64_t total) {
      if (progress) progress(paths[i].filename().string(), done, total);
    });
    if (i % 2 == 0)
      check_images(content[i], paths[i]);
    else
      check_labels(content[i], classes, paths[i]);
  }
  check_counts(content, paths);
  return content;
}

std::string file_checksum(const Tensor& values) {
  Sha256 digest;
  update_with_file(digest, values);
  return digest.hex();
}

std::string content_digest(const Content& content) {
  Sha256 digest;
  for (const Tensor& values : content) update_with_file(digest, values);
  return digest.hex();
}

Tensor as_images(const Tensor& values) {
  if (values.rank() == 4) return values;
  return values.view({values.size(0), values.size(1), values.size(2), 1});
}

ChannelStatistics channel_statistics(const Tensor& images) {
  ChannelHistogram histogram(images.size(3));
  histogram.add(images.values<std::uint8_t>());
  return histogram.statistics();
}

std::vector<std::int64_t> count_labels(const Tensor& labels, std::int64_t classes) {
  std::vector<std::int64_t> counts(static_cast<std::size_t>(classes));
  for (const std::uint8_t label : labels.values<std::uint8_t>()) ++counts[label];
  return counts;
}

}  // namespace lockring::data
