#include "apps/train/resident_data.h"

#include "core/devices.h"
#include "core/error.h"

#include <algorithm>

namespace lockring::app {
namespace {

ErasedPart erased_part(const data::Rectangle& part) {
  return {static_cast<std::int32_t>(part.top), static_cast<std::int32_t>(part.bottom),
          static_cast<std::int32_t>(part.left), static_cast<std::int32_t>(part.right)};
}

ImageDraw image_draw(std::uint32_t sample, const data::Augmentation& drawn) {
  return {.sample = sample,
          .down = static_cast<std::int32_t>(drawn.placement.down),
          .right = static_cast<std::int32_t>(drawn.placement.right),
          .mirrored = drawn.placement.mirrored ? 1 : 0,
          .erased = {erased_part(drawn.erased), erased_part(drawn.cut)}};
}

Tensor floats_on(Device gpu, std::span<const float> values) { return Tensor::from(values, {std::ssize(values)}, gpu); }

}  // namespace

// Activations, parameters and libraries need the rest.
bool ResidentData::suits(const data::Split& split, const data::Transform& transform, Device gpu) {
  constexpr std::int64_t kShare = 4;
  if (split.images->access() != data::Access::memory || transform.rotates() || transform.mixes()) return false;
  return split.images->shape().elements() <= describe_gpu(gpu.index).memory_free / kShare;
}

ResidentData::ResidentData(const data::Split& split, const data::Transform& transform, Device gpu)
    : transform_(transform),
      set_{.pixels = Tensor::empty(split.images->shape(), DType::u8, gpu),
           .labels = split.labels.to(gpu),
           .scale = floats_on(gpu, transform.scale()),
           .shift = floats_on(gpu, transform.shift())} {
  constexpr std::int64_t kAtOnce = 4096;
  const std::int64_t count = split.images->size();
  for (std::int64_t begin = 0; begin < count; begin += kAtOnce) {
    const std::int64_t end = std::min(begin + kAtOnce, count);
    set_.pixels.slice(begin, end).copy_from(split.images->copy(begin, end));
  }
}

Tensor ResidentData::send_draws(GpuLane& lane, std::span<const std::uint32_t> samples, std::uint64_t seed,
                                std::int64_t epoch) const {
  const auto count = std::ssize(samples);
  const Shape& all = set_.pixels.shape();
  const Shape image{all[1], all[2], all[3]};
  Tensor draws = Tensor::empty({count, static_cast<std::int64_t>(sizeof(ImageDraw))}, DType::u8);
  auto* draw = static_cast<ImageDraw*>(draws.raw());
  for (const std::uint32_t sample : samples) {
    check(sample < all[0], "sample {} of a split of {}", sample, all[0]);
    *draw++ = image_draw(sample, transform_.draw({seed, epoch, sample}, image));
  }
  return lane.send(draws);
}

data::Batch ResidentData::prepare(const Tensor& draws) const {
  const std::int64_t count = draws.size(0);
  const Shape& all = set_.pixels.shape();
  const Device gpu = set_.pixels.device();
  data::Batch batch{.images = Tensor::empty(all.with_leading(count), DType::f32, gpu),
                    .labels = Tensor::empty({count}, DType::i32, gpu),
                    .partner_labels = {},
                    .weights = {}};
  ops::prepare_images(set_, draws, batch.images, batch.labels);
  return batch;
}

}  // namespace lockring::app
