#include "data/transform.h"

#include "core/error.h"
#include "core/rng.h"
#include "data/convert_pixels.h"

#include <algorithm>

namespace lockring::data {
namespace {

// How one image is cut and turned.
struct Placement {
  std::int64_t down = 0;  // the output's first row is this row of the input; negative means padding above
  std::int64_t right = 0;
  bool flipped = false;
};

Placement draw_placement(std::uint64_t seed, std::int64_t epoch, std::uint32_t sample, std::int64_t crop, bool flip) {
  Rng rng(seed, RngStream::augment, static_cast<std::uint64_t>(epoch), sample);
  Placement placement;
  if (crop > 0) {
    const auto places = static_cast<std::uint64_t>(2 * crop + 1);
    placement.down = static_cast<std::int64_t>(rng.below(places)) - crop;
    placement.right = static_cast<std::int64_t>(rng.below(places)) - crop;
  }
  if (flip) placement.flipped = (rng.next_u32() & 1) != 0;
  return placement;
}

// One image [h, w, c] by its placement.
void convert_placed(const std::uint8_t* pixels, const Shape& shape, const Placement& placement,
                    const ChannelScale& channels, float* values) {
  const std::int64_t height = shape[1];
  const std::int64_t width = shape[2];
  const std::int64_t row = width * channels.count;
  // Columns of the output that come from the input, before mirroring.
  const std::int64_t begin = std::max<std::int64_t>(0, -placement.right);
  const std::int64_t end = std::min(width, width - placement.right);
  const std::int64_t left = placement.flipped ? width - end : begin;
  for (std::int64_t y = 0; y < height; ++y, values += row) {
    const std::int64_t from = y + placement.down;
    if (from < 0 || from >= height) {
      fill_padding(width, channels, values);
      continue;
    }
    const std::uint8_t* source = pixels + from * row + (begin + placement.right) * channels.count;
    float* target = values + left * channels.count;
    fill_padding(left, channels, values);
    if (placement.flipped)
      convert_mirrored(source, end - begin, channels, target);
    else
      convert_pixels(source, end - begin, channels, target);
    fill_padding(width - left - (end - begin), channels, target + (end - begin) * channels.count);
  }
}

}  // namespace

void Transform::check_fits(std::int64_t height, std::int64_t width, std::int64_t channels) const {
  const auto given = static_cast<std::int64_t>(scale_.size());
  check(given == 1 || given == channels, "normalize: expected numbers for {} channels, found {}", channels, given);
  check(crop_ < std::min(height, width), "crop: expected a padding below the image's size {}x{}, found {}", height,
        width, crop_);
}

void Transform::convert(const std::uint8_t* pixels, std::int64_t count, std::int64_t channels, float* values) const {
  convert_pixels(pixels, count, {scale_, shift_, channels}, values);
}

void Transform::fill_batch(const Split& split, std::span<const std::uint32_t> samples, std::uint64_t seed,
                           std::int64_t epoch, bool training, float* images, std::int32_t* labels) const {
  const Shape& shape = split.images.shape();
  check_fits(shape[1], shape[2], shape[3]);
  const bool random = training && (crop_ > 0 || flip_);
  const ChannelScale channels{scale_, shift_, shape[3]};
  const std::int64_t pixels = shape[1] * shape[2];
  const std::int64_t size = pixels * shape[3];
  const std::uint8_t* all_pixels = split.images.data<std::uint8_t>();
  const std::uint8_t* all_labels = split.labels.data<std::uint8_t>();
  for (const std::uint32_t sample : samples) {
    check(sample < split.size(), "sample {} of a split of {}", sample, split.size());
    const std::uint8_t* image = all_pixels + sample * size;
    const Placement placement = random ? draw_placement(seed, epoch, sample, crop_, flip_) : Placement{};
    if (random)
      convert_placed(image, shape, placement, channels, images);
    else
      convert_pixels(image, pixels, channels, images);
    images += size;
    *labels++ = all_labels[sample];
  }
}

}  // namespace lockring::data
