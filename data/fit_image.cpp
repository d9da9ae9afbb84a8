#include "core/error.h"
#include "data/image_file.h"

#include <algorithm>
#include <cmath>

namespace lockring::data {
namespace {

// Which input positions make one output position, from `first` on.
struct Taps {
  std::int64_t first = 0;
  std::vector<float> weights;
};

// Output pixel i covers [i, i + 1) * in / out of the input; a partly covered pixel counts in part.
Taps area_taps(std::int64_t i, std::int64_t in, std::int64_t out) {
  // In units of 1/out of an input pixel, so that the borders are exact.
  const std::int64_t begin = i * in;
  const std::int64_t end = begin + in;
  Taps taps{begin / out, {}};
  for (std::int64_t at = taps.first; at * out < end; ++at) {
    const std::int64_t covered = std::min(end, (at + 1) * out) - std::max(begin, at * out);
    taps.weights.push_back(static_cast<float>(covered) / static_cast<float>(in));
  }
  return taps;
}

// Output pixel i lies at the centre of its part of the input; outside of the outermost centres the edge goes on.
Taps linear_taps(std::int64_t i, std::int64_t in, std::int64_t out) {
  const float scale = static_cast<float>(in) / static_cast<float>(out);
  const float centre = (static_cast<float>(i) + 0.5f) * scale - 0.5f;
  const float at = std::clamp(centre, 0.0f, static_cast<float>(in - 1));
  const auto first = std::min(static_cast<std::int64_t>(at), std::max<std::int64_t>(in - 2, 0));
  const float beyond = at - static_cast<float>(first);
  if (in == 1) return {0, {1.0f}};
  return {first, {1.0f - beyond, beyond}};
}

// Resamples the middle dimension of [outer][in][inner] to `out`.
template <class Value>
std::vector<float> resample(const std::vector<Value>& values, std::int64_t outer, std::int64_t in, std::int64_t inner,
                            std::int64_t out) {
  std::vector<float> result(static_cast<std::size_t>(outer * out * inner));
  for (std::int64_t i = 0; i < out; ++i) {
    const Taps taps = out < in ? area_taps(i, in, out) : linear_taps(i, in, out);
    for (std::int64_t o = 0; o < outer; ++o) {
      float* to = result.data() + (o * out + i) * inner;
      const Value* from = values.data() + (o * in + taps.first) * inner;
      for (const float weight : taps.weights) {
        for (std::int64_t k = 0; k < inner; ++k) to[k] += weight * static_cast<float>(from[k]);
        from += inner;
      }
    }
  }
  return result;
}

// The outermost pixels show the ground: things are photographed in the middle.
bool has_light_ground(const std::vector<std::uint8_t>& grey, std::int64_t height, std::int64_t width) {
  std::int64_t sum = 0;
  std::int64_t count = 0;
  for (std::int64_t y = 0; y < height; ++y) {
    // Of the rows between the first and the last, only the two ends.
    const std::int64_t step = y == 0 || y == height - 1 ? 1 : std::max<std::int64_t>(1, width - 1);
    for (std::int64_t x = 0; x < width; x += step, ++count) sum += grey[static_cast<std::size_t>(y * width + x)];
  }
  return sum > 127 * count;
}

}  // namespace

// In integers, so grey given as colour stays exact.
DecodedImage with_channels(DecodedImage image, std::int64_t channels) {
  if (image.channels == channels) return image;
  const std::vector<std::uint8_t> from = std::move(image.pixels);
  const std::size_t count = static_cast<std::size_t>(image.height * image.width);
  image.channels = channels;
  image.pixels.resize(count * static_cast<std::size_t>(channels));
  for (std::size_t i = 0; i < count; ++i) {
    if (channels == 1) {
      const std::uint8_t* colour = from.data() + 3 * i;
      image.pixels[i] = static_cast<std::uint8_t>((299 * colour[0] + 587 * colour[1] + 114 * colour[2] + 500) / 1000);
    } else {
      std::fill_n(image.pixels.data() + 3 * i, 3, from[i]);
    }
  }
  return image;
}

Tensor scale_to_fit(const DecodedImage& image, std::int64_t height, std::int64_t width) {
  const std::int64_t channels = image.channels;
  Tensor result = Tensor::zeros({height, width, channels}, DType::u8);
  if (image.height == height && image.width == width) {  // resampling would give the same
    std::ranges::copy(image.pixels, result.data<std::uint8_t>());
    return result;
  }
  const double scale = std::min(static_cast<double>(height) / static_cast<double>(image.height),
                                static_cast<double>(width) / static_cast<double>(image.width));
  const auto scaled = [scale](std::int64_t size, std::int64_t most) {
    return std::clamp<std::int64_t>(std::llround(static_cast<double>(size) * scale), 1, most);
  };
  const std::int64_t new_height = scaled(image.height, height);
  const std::int64_t new_width = scaled(image.width, width);
  const std::vector<float> narrow = resample(image.pixels, image.height, image.width, channels, new_width);
  const std::vector<float> small = resample(narrow, 1, image.height, new_width * channels, new_height);

  std::uint8_t* target = result.data<std::uint8_t>();
  target += ((height - new_height) / 2 * width + (width - new_width) / 2) * channels;
  for (std::int64_t y = 0; y < new_height; ++y)
    for (std::int64_t k = 0; k < new_width * channels; ++k)
      target[y * width * channels + k] = static_cast<std::uint8_t>(
          std::clamp(small[static_cast<std::size_t>(y * new_width * channels + k)] + 0.5f, 0.0f, 255.0f));
  return result;
}

ModelImage fit_image(const DecodedImage& image, std::int64_t height, std::int64_t width, std::int64_t channels,
                     bool light_on_dark) {
  check(height > 0 && width > 0 && (channels == 1 || channels == 3),
        "model input: expected a size above 0 and 1 or 3 channels, found {}x{} and {}", height, width, channels);
  DecodedImage changed = with_channels(image, channels);
  const bool inverted =
      light_on_dark && channels == 1 && has_light_ground(changed.pixels, changed.height, changed.width);
  if (inverted)
    for (std::uint8_t& pixel : changed.pixels) pixel = static_cast<std::uint8_t>(255 - pixel);
  return {scale_to_fit(changed, height, width), inverted};
}

}  // namespace lockring::data
