// Going through all images of a store once.
#pragma once

#include "data/content.h"
#include "data/image_store.h"

#include <cstdint>
#include <functional>
#include <span>

namespace lockring::data {

// Told how many images are done, from 0 on.
using ImageProgress = std::function<void(std::int64_t done)>;

// Hands the pixels of all images to `sink`, in order, some images at a time, and returns their statistics. Several
// threads read, and compute what has to be; `sink` and `progress` are called by this one. Throws what reading and sink
// throw.
ChannelStatistics read_images(const ImageStore& images, const std::function<void(std::span<const std::uint8_t>)>& sink,
                              const ImageProgress& progress = {});

struct HeldImages {
  std::shared_ptr<const ImageStore> images;
  ChannelStatistics statistics;
};
// All of them in memory.
HeldImages hold_images(const ImageStore& images, const ImageProgress& progress = {});

}  // namespace lockring::data
