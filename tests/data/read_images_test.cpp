#include "data/read_images.h"

#include "data/channel_histogram.h"
#include "data/parallel.h"
#include "tests/data/numbered_images.h"
#include "tests/support/errors.h"

#include <gtest/gtest.h>

#include <cmath>
#include <mutex>
#include <set>

namespace lockring::data {
namespace {

TEST(ReadImagesTest, HandsOverAllPixelsInOrder) {
  // More bytes than a window holds, in images of an odd size.
  const NumberedImages images(2500, {47, 41, 1});
  std::vector<std::uint8_t> found;
  std::vector<std::int64_t> progress;
  std::size_t windows = 0;
  const ChannelStatistics statistics = read_images(
      images,
      [&](std::span<const std::uint8_t> pixels) {
        ++windows;
        EXPECT_EQ(pixels.size() % (47 * 41), 0u);
        found.insert(found.end(), pixels.begin(), pixels.end());
      },
      [&](std::int64_t done) { progress.push_back(done); });
  const Tensor all = images.copy(0, 2500);
  EXPECT_TRUE(std::ranges::equal(found, all.values<std::uint8_t>()));
  EXPECT_GT(windows, 1u);
  EXPECT_EQ(progress.size(), windows + 1);
  EXPECT_EQ(progress.front(), 0);
  EXPECT_EQ(progress.back(), 2500);
  double sum = 0;
  double squares = 0;
  for (const std::uint8_t value : found) {
    sum += value / 255.0;
    squares += value / 255.0 * (value / 255.0);
  }
  const auto pixels = static_cast<double>(found.size());
  EXPECT_NEAR(statistics.mean[0], sum / pixels, 1e-6);
  EXPECT_NEAR(statistics.deviation[0], std::sqrt(squares / pixels - sum / pixels * (sum / pixels)), 1e-6);
}

TEST(ReadImagesTest, StatisticsAreThoseOfEachChannel) {
  const NumberedImages images(9, {3, 5, 3});
  const HeldImages held = hold_images(images);
  ASSERT_EQ(held.statistics.mean.size(), 3u);
  for (std::int64_t channel = 0; channel < 3; ++channel) {
    std::vector<std::uint8_t> values;
    const Tensor all = images.copy(0, 9);
    for (std::int64_t i = channel; i < all.elements(); i += 3) values.push_back(all.data<std::uint8_t>()[i]);
    ChannelHistogram histogram(1);
    histogram.add(values);
    EXPECT_EQ(held.statistics.mean[channel], histogram.statistics().mean[0]);
    EXPECT_EQ(held.statistics.deviation[channel], histogram.statistics().deviation[0]);
  }
  EXPECT_TRUE(same_images(*held.images, images));
  EXPECT_EQ(held.images->access(), Access::memory);
}

TEST(ReadImagesTest, EachImageIsReadOnce) {
  const NumberedImages images(100, {2, 2, 1});
  hold_images(images);
  EXPECT_EQ(images.reads, 100);
}

TEST(ReadImagesTest, AnImageThatCannotBeReadIsAnError) {
  NumberedImages images(100, {2, 2, 1});
  images.bad = 77;
  expect_error(ErrorCode::data, "image 77 is damaged", [&] { hold_images(images); });
}

TEST(ParallelTest, DoesEverythingOnce) {
  for (const int threads : {1, 2, 7}) {
    std::mutex mutex;
    std::multiset<std::int64_t> done;
    in_parallel(100, threads, [&](std::int64_t i) {
      const std::lock_guard lock(mutex);
      done.insert(i);
    });
    EXPECT_EQ(done.size(), 100u);
    EXPECT_EQ(std::set(done.begin(), done.end()).size(), 100u);
    in_parallel(0, threads, [](std::int64_t) { ADD_FAILURE(); });
  }
}

TEST(ParallelTest, TheFirstFailureStopsTheRest) {
  std::atomic<int> done = 0;
  expect_error(ErrorCode::data, "no 3", [&] {
    in_parallel(1'000'000, 3, [&](std::int64_t i) {
      check(i < 3, ErrorCode::data, "no {}", 3);
      ++done;
    });
  });
  EXPECT_LT(done, 1000);
}

}  // namespace
}  // namespace lockring::data
