// What a raw data set hands over, gathered for tests.
#pragma once

#include "data/class_names.h"
#include "data/raw_dataset.h"

#include <string>

namespace lockring::data {

// The pixels of all images of a split, one after the other.
inline std::string read_pixels(RawDataset& raw, SplitIndex split) {
  std::string pixels;
  raw.read_images(split, {}, [&](const RawImage& image) { pixels.append(image.pixels.begin(), image.pixels.end()); });
  return pixels;
}

}  // namespace lockring::data
