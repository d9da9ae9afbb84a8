#include "data/read_images.h"

#include "core/cpu.h"
#include "data/channel_histogram.h"
#include "data/parallel.h"

#include <algorithm>

namespace lockring::data {
namespace {

constexpr std::int64_t kWindow = std::int64_t{4} << 20;  // bytes of images that are handed over at a time
constexpr std::int64_t kTurn = 16;                       // images that a thread reads at a time

}  // namespace

ChannelStatistics read_images(const ImageStore& images, const std::function<void(std::span<const std::uint8_t>)>& sink,
                              const ImageProgress& progress) {
  const std::int64_t bytes = images.image_bytes();
  const std::int64_t at_once = std::min(std::max<std::int64_t>(kWindow / bytes, 1), images.size());
  std::vector<std::uint8_t> window(static_cast<std::size_t>(at_once * bytes));
  ChannelHistogram histogram(images.shape()[3]);
  if (progress) progress(0);
  for (std::int64_t begin = 0; begin < images.size(); begin += at_once) {
    const std::int64_t count = std::min(at_once, images.size() - begin);
    in_parallel((count + kTurn - 1) / kTurn, usable_cores(), [&](std::int64_t turn) {
      for (std::int64_t i = turn * kTurn; i < std::min((turn + 1) * kTurn, count); ++i) {
        std::uint8_t* to = window.data() + i * bytes;
        const std::uint8_t* pixels = images.image(begin + i, to);
        if (pixels != to) std::copy_n(pixels, bytes, to);
      }
    });
    const std::span<const std::uint8_t> done(window.data(), static_cast<std::size_t>(count * bytes));
    histogram.add(done);
    sink(done);
    if (progress) progress(begin + count);
  }
  return histogram.statistics();
}

HeldImages hold_images(const ImageStore& images, const ImageProgress& progress) {
  Tensor held = Tensor::empty(images.shape(), DType::u8);
  std::uint8_t* next = held.data<std::uint8_t>();
  const ChannelStatistics statistics = read_images(
      images, [&](std::span<const std::uint8_t> pixels) { next = std::ranges::copy(pixels, next).out; }, progress);
  return {in_memory(held), statistics};
}

}  // namespace lockring::data
