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
Split make_split(std::int64_t n, std::int64_t height, std::int64_t width, std::int64_t channels) {
  Split split{Tensor::empty({n, height, width, channels}, DType::u8), Tensor::empty({n}, DType::u8)};
  Rng rng(1, RngStream::test);
  for (std::uint8_t& byte : split.images.values<std::uint8_t>()) byte = static_cast<std::uint8_t>(1 + rng.below(255));
  for (std::int64_t i = 0; i < n; ++i) split.labels.data<std::uint8_t>()[i] = static_cast<std::uint8_t>(i);
  return split;
}

std::vector<float> batch_of(const Transform& transform, const Split& split, std::span<const std::uint32_t> samples,
                            std::uint64_t seed = 1, std::int64_t epoch = 0, bool training = true) {
  const std::int64_t size = split.images.elements() / split.size();
  std::vector<float> images(samples.size() * static_cast<std::size_t>(size));
  std::vector<std::int32_t> labels(samples.size());
  transform.fill_batch(split, samples, seed, epoch, training, images.data(), labels.data());
  for (std::size_t i = 0; i < samples.size(); ++i) EXPECT_EQ(labels[i], samples[i]);
  return images;
}

// The same by the definition, pixel by pixel; values as bytes.
std::vector<float> expected_image(const Split& split, std::uint32_t sample, int down, int right, bool mirrored) {
  const auto height = split.images.size(1), width = split.images.size(2), channels = split.images.size(3);
  std::vector<float> image;
  for (std::int64_t y = 0; y < height; ++y)
    for (std::int64_t x = 0; x < width; ++x)
      for (std::int64_t c = 0; c < channels; ++c) {
        const std::int64_t from_y = y + down;
        const std::int64_t from_x = (mirrored ? width - 1 - x : x) + right;
        const bool inside = from_y >= 0 && from_y < height && from_x >= 0 && from_x < width;
        const std::int64_t at = ((sample * height + from_y) * width + from_x) * channels + c;
        image.push_back(inside ? split.images.data<std::uint8_t>()[at] : 0);
      }
  return image;
}

// Bytes stay what they are: scale 1, shift 0, up to rounding that is undone.
std::vector<float> as_bytes(std::vector<float> values) {
  for (float& value : values) value = std::round(value * 255);
  return values;
}

TEST(Transform, ScalesAndNormalises) {
  Split split{Tensor::zeros({1, 1, 2, 1}, DType::u8), Tensor::zeros({1}, DType::u8)};
  split.images.data<std::uint8_t>()[1] = 255;
  EXPECT_EQ(batch_of({}, split, all_samples(1)), (std::vector<float>{0, 1}));
  EXPECT_EQ(batch_of(Transform::parse("normalize:0.5:0.25"), split, all_samples(1)), (std::vector<float>{-2, 2}));
  EXPECT_EQ(batch_of(Transform::parse("normalize", {{0.5f}, {0.25f}}), split, all_samples(1)),
            (std::vector<float>{-2, 2}));
}

TEST(Transform, NormalisesByChannel) {
  Split split{Tensor::zeros({1, 1, 2, 3}, DType::u8), Tensor::zeros({1}, DType::u8)};
  std::ranges::fill(split.images.values<std::uint8_t>(), 255);
  const Transform transform = Transform::parse("normalize:0/0.5/1:1/0.5/0.25");
  EXPECT_EQ(batch_of(transform, split, all_samples(1)), (std::vector<float>{1, 1, 0, 1, 1, 0}));
  std::vector<float> values(6);
  transform.convert(split.images.data<std::uint8_t>(), 2, 3, values.data());
  EXPECT_EQ(values, (std::vector<float>{1, 1, 0, 1, 1, 0}));
  const Split grey = make_split(1, 4, 4, 1);
  expect_error(ErrorCode::usage, "numbers for 1 channels, found 3", [&] { batch_of(transform, grey, all_samples(1)); });
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
  const Split split = make_split(20, 6, 6, 1);
  const auto samples = all_samples(20);
  const Transform plain, random = Transform::parse("crop:2,flip");
  EXPECT_EQ(batch_of(random, split, samples, 1, 0, false), batch_of(plain, split, samples));
  EXPECT_NE(batch_of(random, split, samples, 1, 0, true), batch_of(plain, split, samples));
}

TEST(Transform, PaddingIsWhatByteZeroBecomes) {
  Split split{Tensor::zeros({1, 4, 4, 1}, DType::u8), Tensor::zeros({1}, DType::u8)};
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
  const Transform transform = Transform::parse("crop:2,flip");
  const auto samples = all_samples(64);
  const std::vector<float> whole = batch_of(transform, split, samples);
  std::vector<float> images(whole.size());
  std::vector<std::int32_t> labels(samples.size());
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < 4; ++i)
    threads.emplace_back([&, i] {
      transform.fill_batch(split, std::span(samples).subspan(i * 16, 16), 1, 0, true, images.data() + i * 16 * 784,
                           labels.data() + i * 16);
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(images, whole);
}

TEST(Transform, SeedEpochAndSampleMakeTheDifference) {
  // All images equal: what differs comes from the keys.
  Split split = make_split(30, 16, 16, 1);
  for (std::int64_t i = 1; i < 30; ++i)
    std::memcpy(split.images.data<std::uint8_t>() + i * 256, split.images.data<std::uint8_t>(), 256);
  const Transform transform = Transform::parse("crop:4,flip");
  const auto samples = all_samples(30);
  const auto images = batch_of(transform, split, samples);
  EXPECT_EQ(images, batch_of(transform, split, samples));
  EXPECT_NE(images, batch_of(transform, split, samples, 2, 0));
  EXPECT_NE(images, batch_of(transform, split, samples, 1, 1));
  int same = 0;
  for (std::size_t i = 1; i < 30; ++i)
    same += std::equal(images.begin(), images.begin() + 256, images.begin() + i * 256);
  EXPECT_LT(same, 5);
}

TEST(Transform, FillBatchAllocatesNothing) {
  const Split split = make_split(8, 28, 28, 1);
  const Transform transform = Transform::parse("normalize:0.286:0.353,crop:2,flip");
  const auto samples = all_samples(8);
  std::vector<float> images(8 * 784);
  std::vector<std::int32_t> labels(8);
  const AllocationCounter allocations;
  transform.fill_batch(split, samples, 1, 0, true, images.data(), labels.data());
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

TEST(TransformSpec, IsCanonical) {
  const ChannelStatistics statistics{{0.2860406f}, {0.35302424f}};
  EXPECT_EQ(to_string(Transform()), "");
  EXPECT_EQ(to_string(Transform::parse("")), "");
  EXPECT_EQ(to_string(Transform::parse("flip,crop:2,normalize", statistics)),
            "normalize:0.2860406:0.35302424,crop:2,flip");
  for (const char* spec : {"", "flip", "crop:12", "normalize:0.25:0.5", "normalize:0.1/0.2/0.3:1/2/3,crop:1,flip"})
    EXPECT_EQ(to_string(Transform::parse(spec)), spec);
}

TEST(TransformSpec, CanonicalFormGivesTheSameBits) {
  const Split split = make_split(3, 5, 5, 1);
  const Transform first = Transform::parse("normalize,flip", {{1.0f / 3}, {0.1f}});
  const Transform second = Transform::parse(to_string(first));
  EXPECT_EQ(batch_of(first, split, all_samples(3)), batch_of(second, split, all_samples(3)));
}

TEST(TransformSpec, RejectsMistakes) {
  const auto expect_bad = [](std::string_view spec, std::string_view part) {
    expect_error(ErrorCode::usage, part, [&] { Transform::parse(spec, {{0.5f}, {0.0f}}); });
  };
  expect_bad("corp:2", "found 'corp' (did you mean 'crop'?)");
  expect_bad("normalise:1:1", "did you mean 'normalize'?");
  expect_bad("flip,", "found ''");
  expect_bad("flip, crop:2", "found ' crop'");
  expect_bad("crop", "expected 1 numbers of 'crop', found 0 numbers");
  expect_bad("crop:2:3", "found 2 numbers");
  expect_bad("crop:0", "expected 1 to 1024 pixels");
  expect_bad("crop:-1", "expected 1 to 1024 pixels");
  expect_bad("crop:99999999999999999999", "expected a number");
  expect_bad("crop:2.5", "expected a number, found '2.5'");
  expect_bad("flip:1", "found 1 numbers");
  expect_bad("flip,flip", "flip is given twice");
  expect_bad("crop:1,crop:1", "crop is given twice");
  expect_bad("normalize:1:1,normalize:1:1", "normalize is given twice");
  expect_bad("normalize:0.5", "expected 0 or 2 numbers of 'normalize', found 1");
  expect_bad("normalize:0.5:0", "a deviation above 0, found 0");
  expect_bad("normalize:nan:1", "expected a finite number");
  expect_bad("normalize:1/2:1", "as many means as deviations, found 2 and 1");
  expect_bad("normalize", "a deviation above 0");
  expect_error(ErrorCode::usage, "no statistics are known", [] { Transform::parse("normalize"); });
}

}  // namespace
}  // namespace lockring::data
