// What happens to images between the data set and the model, as a text that users write and bundles keep:
//
//   normalize[:MEAN:DEVIATION]   subtract the mean and divide by the deviation of bytes scaled to [0, 1]; without
//                                numbers, those of the training images; one number for all channels, or one each: a/b/c
//   crop:PAD                     pad by PAD pixels of byte value 0 on each side, cut out the original size at random
//   flip                         mirror left to right, half of the time
//
// joined by commas; empty only scales to [0, 1]. crop and flip act in training only, and are keyed by (seed, epoch,
// sample): neither batch nor thread nor rank changes what a sample becomes.
#pragma once

#include "data/content.h"
#include "data/dataset.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lockring::data {

struct Placement;

// Immutable; any number of threads may use one at once. By default, that of the empty spec.
class Transform {
 public:
  // `statistics` are for a normalize without numbers. Throws Error{usage} on an unknown name (suggesting the nearest),
  // a wrong number, or a part given twice.
  static Transform parse(std::string_view spec, const ChannelStatistics& statistics = {});

  // Writes the samples as float32 [samples.size(), h, w, c] and their labels to memory of the caller. Allocates
  // nothing. Throws Error{usage} on a sample beyond the split or on other channels than the statistics have.
  void fill_batch(const Split& split, std::span<const std::uint32_t> samples, std::uint64_t seed, std::int64_t epoch,
                  bool training, float* images, std::int32_t* labels) const;

  // The deterministic part alone, for images that are not of a data set: `count` pixels of interleaved channels to
  // float32.
  void convert(const std::uint8_t* pixels, std::int64_t count, std::int64_t channels, float* values) const;

  // Throws Error{usage} unless the transform suits images of this size.
  void check_fits(std::int64_t height, std::int64_t width, std::int64_t channels) const;

  friend std::string to_string(const Transform& transform);

 private:
  void set_statistics(ChannelStatistics statistics);
  bool random() const { return crop_ > 0 || flip_; }
  void convert_placed(const std::uint8_t* pixels, const Shape& shape, const Placement& placement, float* values) const;

  bool normalize_ = false;
  ChannelStatistics statistics_;  // of normalize; one element stands for all channels
  std::int64_t crop_ = 0;
  bool flip_ = false;
  // A byte b becomes b * scale + shift, by channel.
  std::vector<float> scale_{1.0f / 255.0f};
  std::vector<float> shift_{0.0f};
};

// The canonical spec, with its numbers: parsing it gives the same transform to the bit.
std::string to_string(const Transform& transform);

}  // namespace lockring::data
