#include "data/transform.h"

#include "core/error.h"

#include <algorithm>
#include <array>
#include <cassert>

namespace lockring::data {
namespace {

// Bytes of an image that are placed at a time, before they are converted: on the stack, within the L1 cache.
constexpr std::int64_t kBand = 8192;

// Memory of a thread that grows to the largest image it has seen.
std::uint8_t* byte_scratch(int which, std::int64_t bytes) {
  thread_local std::array<std::vector<std::uint8_t>, 2> scratch;
  if (std::ssize(scratch[which]) < bytes) scratch[which].resize(static_cast<std::size_t>(bytes));
  return scratch[which].data();
}

float* float_scratch(std::int64_t count) {
  thread_local std::vector<float> scratch;
  if (std::ssize(scratch) < count) scratch.resize(static_cast<std::size_t>(count));
  return scratch.data();
}

// The compiler vectorises this; a product and a sum, not fused, so that every machine gives the same bits.
template <class Pixel>
void scale_pixels(const Pixel* __restrict pixels, std::int64_t count, float scale, float shift,
                  float* __restrict values) {
  for (std::int64_t i = 0; i < count; ++i) values[i] = static_cast<float>(pixels[i]) * scale + shift;
}

// Samples lie far apart: the next one comes on its way while this one is computed.
void prefetch(const std::uint8_t* pixels, std::int64_t bytes) {
  constexpr std::int64_t kLine = 64;
  constexpr std::int64_t kMost = 4096;  // what is more comes by itself
  for (std::int64_t at = 0; at < std::min(bytes, kMost); at += kLine) __builtin_prefetch(pixels + at);
}

void blend(float* __restrict values, const float* __restrict partner, std::int64_t count, float weight) {
  for (std::int64_t i = 0; i < count; ++i) values[i] = values[i] * weight + partner[i] * (1 - weight);
}

// 0 is the mean where images are normalised.
void erase(const Rectangle& part, const Shape& image, float* values) {
  const std::int64_t row = image[1] * image[2];
  for (std::int64_t y = part.top; y < part.bottom; ++y)
    std::fill(values + y * row + part.left * image[2], values + y * row + part.right * image[2], 0.0f);
}

}  // namespace

void Transform::check_fits(std::int64_t height, std::int64_t width, std::int64_t channels) const {
  const auto given = static_cast<std::int64_t>(scale_.size());
  check(given == 1 || given == channels, "normalize: expected numbers for {} channels, found {}", channels, given);
  check(augment_.crop < std::min(height, width), "crop: expected a padding below the image's size {}x{}, found {}",
        height, width, augment_.crop);
  check(augment_.cutout <= std::max(height, width), "cutout: expected a side within the image's size {}x{}, found {}",
        height, width, augment_.cutout);
  check(tta_ != "shift" || std::min(height, width) > 1, "tta:shift: expected more than a pixel, found {}x{}", height,
        width);
  if (!augment_.places() && views_.size() == 1) return;
  check(width * channels <= kBand, "crop, flip, tta: expected rows of at most {} bytes, found {}", kBand,
        width * channels);
}

void Transform::fill(const Split& split, std::span<const std::uint32_t> samples, Range part, std::uint64_t seed,
                     std::int64_t epoch, Batch& batch) const {
  const Shape& all = split.images->shape();
  const Shape image{all[1], all[2], all[3]};
  check_fits(image[0], image[1], image[2]);
  const std::uint8_t* labels = split.labels.data<std::uint8_t>();
  std::uint8_t* scratch = byte_scratch(0, image.elements());
  const auto read = [&](std::uint32_t sample, float* values) {
    check(sample < split.size(), "sample {} of a split of {}", sample, split.size());
    augment(split.images->image(sample, scratch), image, {seed, epoch, sample}, values);
  };
  const bool fetches = split.images->access() == Access::memory;
  for (std::int64_t i = 0; i < part.size(); ++i) {
    const std::uint32_t sample = samples[part.begin + i];
    if (const std::int64_t next = part.begin + i + 1; fetches && next < part.end && samples[next] < split.size())
      prefetch(split.images->image(samples[next], nullptr), image.elements());
    float* values = batch.images.data() + i * image.elements();
    read(sample, values);
    batch.labels.data<std::int32_t>()[i] = labels[sample];
    if (!mixes()) continue;
    const Mix mix = draw_mix(augment_.mixup, {seed, epoch, sample}, std::ssize(samples));
    const std::uint32_t partner = samples[mix.partner];
    float* partner_values = float_scratch(image.elements());
    read(partner, partner_values);
    blend(values, partner_values, image.elements(), mix.weight);
    batch.partner_labels.data<std::int32_t>()[i] = labels[partner];
    batch.weights.data()[i] = mix.weight;
  }
}

void Transform::augment(const std::uint8_t* pixels, const Shape& image, const SampleKey& key, float* values) const {
  if (!augment_.places() && !augment_.erases()) return convert_bytes(pixels, image[0] * image[1], image[2], values);
  const Augmentation drawn = draw_augmentation(augment_, key, image[0], image[1]);
  if (augment_.rotate > 0) {
    std::uint8_t* turned = byte_scratch(1, image.elements());
    rotate_pixels(pixels, image[0], image[1], image[2], drawn.rotation, turned);
    pixels = turned;
  }
  if (augment_.places())
    convert_placed(pixels, image, drawn.placement, values);
  else
    convert_bytes(pixels, image[0] * image[1], image[2], values);
  erase(drawn.erased, image, values);
  erase(drawn.cut, image, values);
}

void Transform::convert(const Tensor& images, const View& view, float* values) const {
  const Shape& all = images.shape();
  const Shape image{all[1], all[2], all[3]};
  if (images.dtype() == DType::f32) {
    for (std::int64_t i = 0; i < all.elements(); i += image.elements())
      convert_floats(images.data() + i, image, view.placement, values + i);
    return;
  }
  const std::uint8_t* pixels = images.data<std::uint8_t>();
  if (view.placement == Placement{}) return convert_bytes(pixels, all[0] * image[0] * image[1], image[2], values);
  for (std::int64_t i = 0; i < all[0]; ++i)
    convert_placed(pixels + i * image.elements(), image, view.placement, values + i * image.elements());
}

// What convert_bytes does to each pixel, from where place_rows takes it.
void Transform::convert_floats(const float* pixels, const Shape& image, const Placement& placement,
                               float* values) const {
  if (placement == Placement{} && scale_.size() == 1)
    return scale_pixels(pixels, image.elements(), scale_[0], shift_[0], values);
  const std::int64_t height = image[0], width = image[1], channels = image[2];
  for (std::int64_t y = 0; y < height; ++y) {
    for (std::int64_t x = 0; x < width; ++x) {
      const std::int64_t row = y + placement.down;
      const std::int64_t column = (placement.mirrored ? width - 1 - x : x) + placement.right;
      const bool inside = row >= 0 && row < height && column >= 0 && column < width;
      for (std::int64_t c = 0; c < channels; ++c) {
        const std::size_t which = scale_.size() == 1 ? 0 : static_cast<std::size_t>(c);
        const float pixel = inside ? pixels[(row * width + column) * channels + c] : 0;
        *values++ = pixel * scale_[which] + shift_[which];
      }
    }
  }
}

// Channels in turn, many pixels at a time: loops over three channels would be too short to be fast.
void Transform::convert_bytes(const std::uint8_t* pixels, std::int64_t count, std::int64_t channels,
                              float* values) const {
  if (scale_.size() == 1) return scale_pixels(pixels, count * channels, scale_[0], shift_[0], values);
  constexpr std::int64_t kMost = 48;
  assert(channels <= kMost);
  const std::int64_t period = kMost / channels * channels;
  std::array<float, kMost> scale, shift;
  for (std::int64_t i = 0; i < period; ++i) {
    scale[i] = scale_[i % channels];
    shift[i] = shift_[i % channels];
  }
  for (std::int64_t begin = 0; begin < count * channels; begin += period) {
    const std::int64_t some = std::min(period, count * channels - begin);
    for (std::int64_t i = 0; i < some; ++i)
      values[begin + i] = static_cast<float>(pixels[begin + i]) * scale[i] + shift[i];
  }
}

// Rows of 28 pixels are too short to convert fast one by one. They are placed as bytes first, then converted together;
// padding is byte 0 and needs no case of its own.
void Transform::convert_placed(const std::uint8_t* pixels, const Shape& image, const Placement& placement,
                               float* values) const {
  const std::int64_t height = image[0], width = image[1], channels = image[2];
  const std::int64_t rows_at_once = kBand / (width * channels);
  std::array<std::uint8_t, kBand> band;
  for (std::int64_t begin = 0; begin < height; begin += rows_at_once) {
    const std::int64_t end = std::min(begin + rows_at_once, height);
    place_rows(pixels, height, width, channels, placement, begin, end, band.data());
    convert_bytes(band.data(), (end - begin) * width, channels, values + begin * width * channels);
  }
}

}  // namespace lockring::data
