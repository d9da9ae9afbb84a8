#include "data/transform.h"

#include "core/error.h"
#include "core/rng.h"
#include "data/place_pixels.h"

#include <algorithm>
#include <array>

namespace lockring::data {
namespace {

// Bytes of an image that are placed at a time, before they are converted: on the stack, within the L1 cache.
constexpr std::int64_t kBand = 8192;

// A sample draws from a stream of its own, in a fixed order: down, right, mirror.
Placement draw_placement(std::uint64_t seed, std::int64_t epoch, std::uint32_t sample, std::int64_t crop, bool flip) {
  Rng rng(seed, RngStream::augment, static_cast<std::uint64_t>(epoch), sample);
  Placement placement;
  if (crop > 0) {
    const auto places = static_cast<std::uint64_t>(2 * crop + 1);
    placement.down = static_cast<std::int64_t>(rng.below(places)) - crop;
    placement.right = static_cast<std::int64_t>(rng.below(places)) - crop;
  }
  if (flip) placement.mirrored = (rng.next_u32() & 1) != 0;
  return placement;
}

// The compiler vectorises this; a product and a sum, not fused, so that every machine gives the same bits.
void convert_bytes(const std::uint8_t* __restrict bytes, std::int64_t count, float scale, float shift,
                   float* __restrict values) {
  for (std::int64_t i = 0; i < count; ++i) values[i] = static_cast<float>(bytes[i]) * scale + shift;
}

}  // namespace

void Transform::check_fits(std::int64_t height, std::int64_t width, std::int64_t channels) const {
  const auto given = static_cast<std::int64_t>(scale_.size());
  check(given == 1 || given == channels, "normalize: expected numbers for {} channels, found {}", channels, given);
  if (!random()) return;
  check(crop_ < std::min(height, width), "crop: expected a padding below the image's size {}x{}, found {}", height,
        width, crop_);
  check(width * channels <= kBand, "crop and flip: expected rows of at most {} bytes, found {}", kBand,
        width * channels);
}

void Transform::convert(const std::uint8_t* pixels, std::int64_t count, std::int64_t channels, float* values) const {
  if (scale_.size() == 1) return convert_bytes(pixels, count * channels, scale_[0], shift_[0], values);
  for (std::int64_t i = 0; i < count; ++i)
    for (std::int64_t c = 0; c < channels; ++c, ++pixels, ++values)
      *values = static_cast<float>(*pixels) * scale_[c] + shift_[c];
}

void Transform::fill_batch(const Split& split, std::span<const std::uint32_t> samples, std::uint64_t seed,
                           std::int64_t epoch, bool training, float* images, std::int32_t* labels) const {
  const Shape& shape = split.images.shape();
  check_fits(shape[1], shape[2], shape[3]);
  const std::int64_t size = shape[1] * shape[2] * shape[3];
  const std::uint8_t* all_pixels = split.images.data<std::uint8_t>();
  const std::uint8_t* all_labels = split.labels.data<std::uint8_t>();
  for (const std::uint32_t sample : samples) {
    check(sample < split.size(), "sample {} of a split of {}", sample, split.size());
    const std::uint8_t* pixels = all_pixels + sample * size;
    if (training && random())
      convert_placed(pixels, shape, draw_placement(seed, epoch, sample, crop_, flip_), images);
    else
      convert(pixels, shape[1] * shape[2], shape[3], images);
    images += size;
    *labels++ = all_labels[sample];
  }
}

// Rows of 28 pixels are too short to convert fast one by one. They are placed as bytes first, then converted together;
// padding is byte 0 and needs no case of its own.
void Transform::convert_placed(const std::uint8_t* pixels, const Shape& shape, const Placement& placement,
                               float* values) const {
  const std::int64_t height = shape[1], width = shape[2], channels = shape[3];
  const std::int64_t rows_at_once = kBand / (width * channels);
  std::array<std::uint8_t, kBand> band;
  for (std::int64_t begin = 0; begin < height; begin += rows_at_once) {
    const std::int64_t end = std::min(begin + rows_at_once, height);
    place_rows(pixels, height, width, channels, placement, begin, end, band.data());
    convert(band.data(), (end - begin) * width, channels, values + begin * width * channels);
  }
}

}  // namespace lockring::data
