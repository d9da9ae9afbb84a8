#include "data/transform.h"

#include "core/rng.h"
#include "data/sampler.h"
#include "tests/support/allocation_counter.h"
#include "tests/support/errors.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <thread>

namespace lockring::data {
namespace {

// Random bytes, none 0, so that padding shows; labels are the samples' numbers.
Tensor make_images(std::int64_t n, std::int64_t height, std::int64_t width, std::int64_t channels) {
  Tensor images = Tensor::empty({n, height, width, channels}, DType::u8);
  Rng rng(1, RngStream::test);
  for (std::uint8_t& byte : images.values<std::uint8_t>()) byte = static_cast<std::uint8_t>(1 + rng.below(255));
  return images;
}

Split split_of(const Tensor& images) {
  Tensor labels = Tensor::empty({images.size(0)}, DType::u8);
  for (std::int64_t i = 0; i < images.size(0); ++i) labels.data<std::uint8_t>()[i] = static_cast<std::uint8_t>(i);
  return {in_memory(images), labels};
}

Split make_split(std::int64_t n, std::int64_t height, std::int64_t width, std::int64_t channels) {
  return split_of(make_images(n, height, width, channels));
}

std::vector<float> values_of(const Tensor& tensor) {
  const std::span values = tensor.values();
  return {values.begin(), values.end()};
}

Batch training_batch(const Transform& transform, const Split& split, std::span<const std::uint32_t> samples,
                     std::uint64_t seed = 1, std::int64_t epoch = 0) {
  const Shape& all = split.images->shape();
  Batch batch = Batch::empty({all[1], all[2], all[3]}, std::ssize(samples), transform.mixes());
  transform.fill(split, samples, {0, std::ssize(samples)}, seed, epoch, batch);
  for (std::size_t i = 0; i < samples.size(); ++i) EXPECT_EQ(batch.labels.data<std::int32_t>()[i], samples[i]);
  return batch;
}

std::vector<float> batch_of(const Transform& transform, const Split& split, std::span<const std::uint32_t> samples,
                            std::uint64_t seed = 1, std::int64_t epoch = 0) {
  return values_of(training_batch(transform, split, samples, seed, epoch).images);
}

// As a model that answers sees images.
std::vector<float> view_of(const Transform& transform, const Tensor& images, const View& view = {}) {
  Tensor values = Tensor::empty(images.shape());
  transform.convert(images, view, values.data());
  return values_of(values);
}

// The same by the definition, pixel by pixel; values as bytes.
std::vector<float> expected_image(const Split& split, std::uint32_t sample, int down, int right, bool mirrored) {
  const Tensor image = split.images->copy(sample, sample + 1);
  const auto height = image.size(1), width = image.size(2), channels = image.size(3);
  std::vector<float> expected;
  for (std::int64_t y = 0; y < height; ++y)
    for (std::int64_t x = 0; x < width; ++x)
      for (std::int64_t c = 0; c < channels; ++c) {
        const std::int64_t from_y = y + down;
        const std::int64_t from_x = (mirrored ? width - 1 - x : x) + right;
        const bool inside = from_y >= 0 && from_y < height && from_x >= 0 && from_x < width;
        const std::int64_t at = (from_y * width + from_x) * channels + c;
        expected.push_back(inside ? image.data<std::uint8_t>()[at] : 0);
      }
  return expected;
}

// Bytes stay what they are: scale 1, shift 0, up to rounding that is undone.
std::vector<float> as_bytes(std::vector<float> values) {
  for (float& value : values) value = std::round(value * 255);
  return values;
}

TEST(Transform, ScalesAndNormalises) {
  Tensor images = Tensor::zeros({1, 1, 2, 1}, DType::u8);
  images.data<std::uint8_t>()[1] = 255;
  const Split split = split_of(images);
  EXPECT_EQ(batch_of({}, split, all_samples(1)), (std::vector<float>{0, 1}));
  EXPECT_EQ(batch_of(Transform::parse("normalize:0.5:0.25"), split, all_samples(1)), (std::vector<float>{-2, 2}));
  EXPECT_EQ(view_of(Transform::parse("normalize", {{0.5f}, {0.25f}}), images), (std::vector<float>{-2, 2}));
}

TEST(Transform, NormalisesByChannel) {
  Tensor images = Tensor::empty({1, 1, 2, 3}, DType::u8);
  std::ranges::fill(images.values<std::uint8_t>(), 255);
  const Transform transform = Transform::parse("normalize:0/0.5/1:1/0.5/0.25");
  EXPECT_EQ(batch_of(transform, split_of(images), all_samples(1)), (std::vector<float>{1, 1, 0, 1, 1, 0}));
  EXPECT_EQ(view_of(transform, images), (std::vector<float>{1, 1, 0, 1, 1, 0}));
  const Split grey = make_split(1, 4, 4, 1);
  expect_error(ErrorCode::usage, "numbers for 1 channels, found 3", [&] { batch_of(transform, grey, all_samples(1)); });
}

// However many values are converted at a time.
TEST(Transform, NormalisesAnyNumberOfPixels) {
  for (std::int64_t channels = 1; channels <= 4; ++channels)
    for (const std::int64_t width : {1, 11, 12, 13, 16, 17, 48, 49, 97}) {
      ChannelStatistics statistics;
      for (std::int64_t c = 0; c < channels; ++c) {
        statistics.mean.push_back(0.1F * static_cast<float>(c + 1));
        statistics.deviation.push_back(0.5F / static_cast<float>(c + 1));
      }
      const Tensor images = make_images(1, 1, width, channels);
      const std::vector<float> found = view_of(Transform::parse("normalize", statistics), images);
      for (std::int64_t i = 0; i < images.elements(); ++i) {
        const float byte = static_cast<float>(images.data<std::uint8_t>()[i]) / 255;
        const auto c = static_cast<std::size_t>(i % channels);
        EXPECT_NEAR(found[i], (byte - statistics.mean[c]) / statistics.deviation[c], 1e-5) << width << " " << i;
      }
    }
}

struct Size {
  std::int64_t height, width, channels;
};

// Every image is one of the placements that the spec allows, and all of those occur.
void expect_all_placements(const std::string& spec, Size size, int crop, bool flip) {
  const Split split = make_split(2, size.height, size.width, size.channels);
  const Transform transform = Transform::parse(spec);
  std::map<std::vector<float>, int> seen;
  for (int down = -crop; down <= crop; ++down)
    for (int right = -crop; right <= crop; ++right)
      for (int mirrored = 0; mirrored <= (flip ? 1 : 0); ++mirrored)
        seen[expected_image(split, 1, down, right, mirrored != 0)] = 0;
  const auto count = static_cast<int>(seen.size());
  const std::vector<std::uint32_t> sample = {1};
  for (int epoch = 0; epoch < count * 40; ++epoch) {
    const auto found = seen.find(as_bytes(batch_of(transform, split, sample, 1, epoch)));
    ASSERT_NE(found, seen.end()) << spec << " epoch " << epoch;
    ++found->second;
  }
  // Expected 40 times each, standard deviation about 6.
  for (const auto& [image, times] : seen) EXPECT_TRUE(times > 10 && times < 80) << times;
}

TEST(Transform, CropsAndFlipsAsDefined) {
  expect_all_placements("crop:1", {5, 7, 1}, 1, false);
  expect_all_placements("flip", {3, 28, 1}, 0, true);
  expect_all_placements("flip", {3, 5, 3}, 0, true);
  expect_all_placements("crop:2,flip", {12, 11, 1}, 2, true);
  expect_all_placements("crop:1,flip", {4, 9, 3}, 1, true);
  // Larger than is placed at a time.
  expect_all_placements("crop:1,flip", {130, 100, 1}, 1, true);
}

TEST(Transform, RandomPartsActInTrainingOnly) {
  const Tensor images = make_images(20, 6, 6, 1);
  const Transform plain, random = Transform::parse("crop:2,flip,rotate:10,erase:1,cutout:3,mixup:1");
  EXPECT_EQ(view_of(random, images), batch_of(plain, split_of(images), all_samples(20)));
  EXPECT_NE(view_of(random, images), batch_of(random, split_of(images), all_samples(20)));
}

TEST(Transform, PaddingIsWhatByteZeroBecomes) {
  const Split split = split_of(Tensor::zeros({1, 4, 4, 1}, DType::u8));
  const auto images = batch_of(Transform::parse("normalize:0.3:0.4,crop:2"), split, all_samples(1), 1, 3);
  for (const float value : images) EXPECT_EQ(value, images[0]);
  EXPECT_FLOAT_EQ(images[0], -0.75f);
}

TEST(Transform, SampleDoesNotDependOnItsBatch) {
  const Split split = make_split(50, 28, 28, 1);
  const Transform transform = Transform::parse("normalize:0.286:0.353,crop:2,flip");
  const auto order = epoch_order(all_samples(50), 9, 4);
  const std::vector<float> whole = batch_of(transform, split, order, 9, 4);
  for (const std::size_t size : {1u, 3u, 7u, 49u}) {
    std::vector<float> parts;
    for (std::size_t at = 0; at < order.size(); at += size) {
      const auto part = std::span(order).subspan(at, std::min(size, order.size() - at));
      const std::vector<float> images = batch_of(transform, split, part, 9, 4);
      parts.insert(parts.end(), images.begin(), images.end());
    }
    EXPECT_EQ(parts, whole) << "batches of " << size;
  }
}

TEST(Transform, ThreadsMayShareOne) {
  const Split split = make_split(64, 28, 28, 1);
  const Transform transform = Transform::parse("crop:2,flip,rotate:20,erase:0.5,mixup:0.3");
  const auto samples = all_samples(64);
  const Batch whole = training_batch(transform, split, samples);
  const Batch parts = Batch::empty({28, 28, 1}, 64, true);
  std::vector<std::thread> threads;
  for (std::int64_t i = 0; i < 4; ++i)
    threads.emplace_back([&, i] {
      Batch part = parts.slice(i * 16, i * 16 + 16);
      transform.fill(split, samples, {i * 16, i * 16 + 16}, 1, 0, part);
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(values_of(parts.images), values_of(whole.images));
  EXPECT_EQ(values_of(parts.weights), values_of(whole.weights));
}

TEST(Transform, SeedEpochAndSampleMakeTheDifference) {
  // All images equal: what differs comes from the keys.
  Tensor images = make_images(30, 16, 16, 1);
  for (std::int64_t i = 1; i < 30; ++i)
    std::memcpy(images.data<std::uint8_t>() + i * 256, std::as_const(images).data<std::uint8_t>(), 256);
  const Split split = split_of(images);
  const auto samples = all_samples(30);
  for (const char* spec : {"crop:4,flip", "rotate:30", "erase:1", "cutout:8"}) {
    const Transform transform = Transform::parse(spec);
    const auto first = batch_of(transform, split, samples);
    EXPECT_EQ(first, batch_of(transform, split, samples)) << spec;
    EXPECT_NE(first, batch_of(transform, split, samples, 2, 0)) << spec;
    EXPECT_NE(first, batch_of(transform, split, samples, 1, 1)) << spec;
    int same = 0;
    for (std::size_t i = 1; i < 30; ++i)
      same += std::equal(first.begin(), first.begin() + 256, first.begin() + i * 256);
    EXPECT_LT(same, 5) << spec;
  }
}

TEST(Transform, ASteadyFillAllocatesNothing) {
  const Split split = make_split(8, 28, 28, 1);
  const Transform transform = Transform::parse("normalize:0.286:0.353,crop:2,flip,rotate:5,erase:0.5,mixup:0.2");
  const auto samples = all_samples(8);
  Batch batch = training_batch(transform, split, samples);
  const AllocationCounter allocations;
  transform.fill(split, samples, {0, 8}, 1, 0, batch);
  EXPECT_EQ(allocations.count(), 0);
}

TEST(Transform, RejectsWhatDoesNotFit) {
  const Split split = make_split(2, 4, 6, 1);
  const std::vector<std::uint32_t> beyond = {2};
  expect_error(ErrorCode::usage, "sample 2 of a split of 2", [&] { batch_of({}, split, beyond); });
  expect_error(ErrorCode::usage, "below the image's size 4x6, found 4",
               [&] { batch_of(Transform::parse("crop:4"), split, all_samples(1)); });
  batch_of(Transform::parse("crop:3"), split, all_samples(1));
  expect_error(ErrorCode::usage, "rows of at most", [] { Transform::parse("flip").check_fits(10, 10000, 1); });
}

TEST(Transform, AlternatingFlipShowsAnImageBothWays) {
  const Split split = make_split(40, 4, 6, 1);
  const Transform transform = Transform::parse("flip:alternate");
  int mirrored_first = 0;
  for (const std::uint32_t sample : all_samples(40)) {
    const std::vector<std::uint32_t> one = {sample};
    const auto plain = expected_image(split, sample, 0, 0, false), mirrored = expected_image(split, sample, 0, 0, true);
    const bool first = as_bytes(batch_of(transform, split, one, 1, 0)) == mirrored;
    mirrored_first += first;
    for (int epoch = 0; epoch < 6; ++epoch)
      EXPECT_EQ(as_bytes(batch_of(transform, split, one, 1, epoch)), first != (epoch % 2 == 1) ? mirrored : plain);
  }
  EXPECT_TRUE(mirrored_first > 8 && mirrored_first < 32) << mirrored_first;
}

// How many values of each image are 0, and that they form a rectangle.
std::vector<std::int64_t> erased_areas(const std::vector<float>& values, std::int64_t size) {
  std::vector<std::int64_t> areas;
  for (std::size_t at = 0; at < values.size(); at += size * size) {
    std::int64_t top = size, bottom = -1, left = size, right = -1, count = 0;
    for (std::int64_t y = 0; y < size; ++y)
      for (std::int64_t x = 0; x < size; ++x) {
        if (values[at + y * size + x] != 0) continue;
        ++count;
        top = std::min(top, y), bottom = std::max(bottom, y), left = std::min(left, x), right = std::max(right, x);
      }
    EXPECT_TRUE(count == 0 || count == (bottom - top + 1) * (right - left + 1));
    areas.push_back(count);
  }
  return areas;
}

TEST(Transform, ErasesARectangleOfTheAskedShare) {
  const Split split = make_split(200, 28, 28, 1);
  const auto areas = erased_areas(batch_of(Transform::parse("erase:1:0.1:0.3"), split, all_samples(200)), 28);
  double sum = 0;
  for (const std::int64_t area : areas) {
    EXPECT_TRUE(area == 0 || (area > 0.08 * 784 && area < 0.33 * 784)) << area;
    sum += static_cast<double>(area) / 784;
  }
  EXPECT_NEAR(sum / 200, 0.2, 0.02);
  const auto half = erased_areas(batch_of(Transform::parse("erase:0.5"), split, all_samples(200)), 28);
  EXPECT_NEAR(static_cast<double>(std::ranges::count(half, 0)), 100, 25);
}

TEST(Transform, CutsOutASquareThatMayReachBeyondTheBorder) {
  const Split split = make_split(200, 16, 16, 1);
  const auto areas = erased_areas(batch_of(Transform::parse("cutout:6"), split, all_samples(200)), 16);
  EXPECT_EQ(std::ranges::max(areas), 36);
  EXPECT_TRUE(std::ranges::min(areas) >= 9 && std::ranges::min(areas) < 24) << std::ranges::min(areas);
}

TEST(Transform, ErasedIsTheMean) {
  const Split split = make_split(1, 8, 8, 1);
  const auto images = batch_of(Transform::parse("normalize:0.3:0.4,cutout:8"), split, all_samples(1));
  EXPECT_GE(std::ranges::count(images, 0.0f), 16);
}

TEST(Transform, MixesWithAnotherImageOfTheBatch) {
  const Split split = make_split(100, 6, 6, 1);
  const Transform transform = Transform::parse("mixup:1"), plain;
  const auto samples = all_samples(100);
  const Batch mixed = training_batch(transform, split, samples);
  const auto alone = batch_of(plain, split, samples);
  double sum = 0;
  for (std::int64_t i = 0; i < 100; ++i) {
    const float weight = mixed.weights.data()[i];
    const std::int32_t partner = mixed.partner_labels.data<std::int32_t>()[i];
    ASSERT_TRUE(weight >= 0 && weight <= 1 && partner >= 0 && partner < 100);
    sum += weight;
    for (std::int64_t k = 0; k < 36; ++k)
      EXPECT_EQ(mixed.images.data()[i * 36 + k], alone[i * 36 + k] * weight + alone[partner * 36 + k] * (1 - weight));
  }
  EXPECT_NEAR(sum / 100, 0.5, 0.1);
}

TEST(Transform, SmallAlphaMixesLittle) {
  const Batch mixed = training_batch(Transform::parse("mixup:0.1"), make_split(200, 4, 4, 1), all_samples(200));
  int extreme = 0;
  for (const float weight : mixed.weights.values()) extreme += weight < 0.05f || weight > 0.95f;
  EXPECT_GT(extreme, 120);
}

TEST(Transform, ViewsAreTheImageItsMirrorAndBothMoved) {
  const Tensor images = make_images(1, 5, 6, 1);
  const Split split = split_of(images);
  const auto seen = [&](const char* spec) {
    const Transform transform = Transform::parse(spec);
    std::vector<std::pair<std::vector<float>, float>> views;
    for (const View& view : transform.views())
      views.emplace_back(as_bytes(view_of(transform, images, view)), view.weight);
    return views;
  };
  const auto at = [&](int by, bool mirrored) { return expected_image(split, 0, by, by, mirrored); };
  EXPECT_EQ(seen("").size(), 1);
  const auto flips = seen("tta:flip");
  ASSERT_EQ(flips.size(), 2);
  EXPECT_EQ(flips[0], std::pair(at(0, false), 0.5f));
  EXPECT_EQ(flips[1], std::pair(at(0, true), 0.5f));
  const auto shifts = seen("tta:shift");
  ASSERT_EQ(shifts.size(), 6);
  EXPECT_EQ(shifts[1], std::pair(at(0, true), 0.25f));
  EXPECT_EQ(shifts[2], std::pair(at(-1, false), 0.125f));
  EXPECT_EQ(shifts[5], std::pair(at(1, true), 0.125f));
}

TEST(Transform, FloatsThatStandForBytesGiveTheBitsOfTheBytes) {
  const ChannelStatistics grey{{0.3F}, {0.35F}};
  const ChannelStatistics coloured{{0.3F, 0.4F, 0.5F}, {0.2F, 0.3F, 0.1F}};
  for (const std::int64_t channels : {1, 3}) {
    const Tensor images = make_images(3, 5, 6, channels);
    Tensor floats = Tensor::empty(images.shape());
    std::ranges::copy(images.values<std::uint8_t>(), floats.data());
    const Transform transform = Transform::parse("normalize,tta:shift", channels == 1 ? grey : coloured);
    for (const View& view : transform.views()) {
      Tensor from_bytes = Tensor::empty(images.shape());
      Tensor from_floats = Tensor::empty(images.shape());
      transform.convert(images, view, from_bytes.data());
      transform.convert(floats, view, from_floats.data());
      EXPECT_TRUE(std::ranges::equal(std::as_const(from_bytes).values(), std::as_const(from_floats).values()));
    }
  }
}

TEST(Transform, CanonicalFormGivesTheSameBits) {
  const Split split = make_split(3, 5, 5, 1);
  const Transform first = Transform::parse("normalize,flip", {{1.0f / 3}, {0.1f}});
  const Transform second = Transform::parse(to_string(first));
  EXPECT_EQ(batch_of(first, split, all_samples(3)), batch_of(second, split, all_samples(3)));
}

}  // namespace
}  // namespace lockring::data
