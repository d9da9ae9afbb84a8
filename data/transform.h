// What happens to images between the data set and the model, as a text that users write and bundles keep. Parts joined
// by commas, in any order; they act in this one:
//
//   resize:SIZE or HxW           scale to fit, keeping the aspect, centred on black
//   grayscale                    one channel of three
//                                -- so far always the same, and what caches hold; in training only:
//   rotate:DEGREES               turn by up to this angle either way
//   crop:PAD                     pad by PAD pixels of byte value 0 on each side, cut out the original size at random
//   flip or flip:alternate       mirror left to right, half of the time; or in every other epoch
//                                -- always:
//   normalize[:MEAN:DEVIATION]   subtract the mean and divide by the deviation of bytes scaled to [0, 1]; without
//                                numbers, those of the training images; one number for all channels, or one each: a/b/c
//                                -- in training only:
//   erase:P[:LEAST:MOST]         with probability P, a rectangle of 2 % to 33 % of the area, or these shares, becomes 0
//   cutout:SIDE                  a square of SIDE pixels becomes 0; it may reach beyond the border
//   mixup:ALPHA                  blend with another image of the batch by a weight of Beta(ALPHA, ALPHA)
//                                -- when a model answers:
//   tta:flip or tta:shift        answer with the mean over the image and its mirror; shift also moves both by a pixel
//
// An empty spec only scales to [0, 1].
#pragma once

#include "data/augment.h"
#include "data/batch.h"
#include "data/content.h"
#include "data/dataset.h"
#include "data/front.h"
#include "data/sampler.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lockring::data {

// How a model looks at an image to answer, and how much that counts. Weights add up to 1.
struct View {
  Placement placement;
  float weight = 1;
};

// Immutable; any number of threads may use one at once. By default, that of the empty spec.
class Transform {
 public:
  // `statistics` are for a normalize without numbers. Throws Error{usage} on an unknown name (suggesting the nearest),
  // a wrong number, or a part given twice.
  static Transform parse(std::string_view spec, const ChannelStatistics& statistics = {});

  const Front& front() const { return front_; }
  bool mixes() const { return augment_.mixup > 0; }
  bool rotates() const { return augment_.rotate > 0; }
  // For those who do to an image [h, w, c] themselves what fill() does: what a sample draws, and how a byte b becomes
  // b * scale + shift, by channel; one number stands for all.
  Augmentation draw(const SampleKey& key, const Shape& image) const {
    return draw_augmentation(augment_, key, image[0], image[1]);
  }
  std::span<const float> scale() const { return scale_; }
  std::span<const float> shift() const { return shift_; }
  std::span<const View> views() const { return views_; }

  // Writes the positions `part` of the training batch `samples` to `batch`, whose size is the part's and which is mixed
  // if the transform mixes. The images of `split` have passed the front. Throws Error{usage} on a sample beyond the
  // split or on other channels than the statistics have.
  void fill(const Split& split, std::span<const std::uint32_t> samples, Range part, std::uint64_t seed,
            std::int64_t epoch, Batch& batch) const;

  // One view of images [n, h, w, c], which have passed the front, as float32 to `values`: of bytes (u8), or of float32
  // that stand for bytes (0 to 255, and between them), which give the same bits where they are whole.
  void convert(const Tensor& images, const View& view, float* values) const;

  // Throws Error{usage} unless the transform suits images of this size, which they have after the front.
  void check_fits(std::int64_t height, std::int64_t width, std::int64_t channels) const;

  friend std::string to_string(const Transform& transform);

 private:
  friend struct TransformPart;  // reads and writes them

  void set_statistics(ChannelStatistics statistics);
  void convert_bytes(const std::uint8_t* pixels, std::int64_t count, std::int64_t channels, float* values) const;
  void convert_floats(const float* pixels, const Shape& image, const Placement& placement, float* values) const;
  void convert_placed(const std::uint8_t* pixels, const Shape& image, const Placement& placement, float* values) const;
  void augment(const std::uint8_t* pixels, const Shape& image, const SampleKey& key, float* values) const;

  Front front_;
  bool normalize_ = false;
  ChannelStatistics statistics_;  // of normalize; one element stands for all channels
  AugmentOptions augment_;
  std::string tta_;  // "", "flip" or "shift"
  std::vector<View> views_{View{}};
  // A byte b becomes b * scale + shift, by channel.
  std::vector<float> scale_{1.0f / 255.0f};
  std::vector<float> shift_{0.0f};
};

// The canonical spec, with its numbers: parsing it gives the same transform to the bit.
std::string to_string(const Transform& transform);

}  // namespace lockring::data
