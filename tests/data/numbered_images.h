// Images without a file, each unlike the others, that can be slow, fail, and count how often they are read.
#pragma once

#include "core/error.h"
#include "data/image_store.h"

#include <atomic>
#include <chrono>
#include <thread>

namespace lockring::data {

class NumberedImages : public ImageStore {
 public:
  // `image`: [h, w, c]
  NumberedImages(std::int64_t count, const Shape& image) : ImageStore({count, image[0], image[1], image[2]}) {}

  const std::uint8_t* image(std::int64_t index, std::uint8_t* scratch) const override {
    reads.fetch_add(1);
    if (delay.count() > 0) std::this_thread::sleep_for(delay);
    check(index != bad, ErrorCode::data, "image {} is damaged", index);
    for (std::int64_t i = 0; i < image_bytes(); ++i) scratch[i] = static_cast<std::uint8_t>(index * 31 + i * 7);
    return scratch;
  }
  Access access() const override { return Access::computed; }

  std::chrono::milliseconds delay{0};
  std::int64_t bad = -1;
  mutable std::atomic<std::int64_t> reads{0};
};

// Whether both hold the same pixels.
inline bool same_images(const ImageStore& one, const ImageStore& other) {
  if (one.shape() != other.shape()) return false;
  const Tensor a = one.copy(0, one.size());
  const Tensor b = other.copy(0, other.size());
  return std::ranges::equal(a.values<std::uint8_t>(), b.values<std::uint8_t>());
}

}  // namespace lockring::data
