#include "data/loader.h"

#include "tests/data/numbered_images.h"
#include "tests/support/allocation_counter.h"
#include "tests/support/errors.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <numeric>

namespace lockring::data {
namespace {

constexpr std::int64_t kImages = 100;
constexpr std::int64_t kBatch = 24;
const Shape kImage{6, 5, 1};

class LoaderTest : public testing::Test {
 protected:
  LoaderTest() {
    split_.images = images_;
    split_.labels = Tensor::empty({kImages}, DType::u8);
    const std::span labels = split_.labels.values<std::uint8_t>();
    std::iota(labels.begin(), labels.end(), std::uint8_t{0});
  }

  Loader loader(int threads) const { return Loader(split_, transform_, {.seed = 5, .threads = threads}); }

  std::vector<std::uint32_t> order(std::int64_t epoch) const { return epoch_order(all_samples(kImages), 5, epoch); }
  static std::span<const std::uint32_t> batch_of(std::span<const std::uint32_t> order, std::size_t step) {
    return order.subspan(step * kBatch, std::min<std::size_t>(kBatch, order.size() - step * kBatch));
  }
  static constexpr std::size_t kSteps = (kImages + kBatch - 1) / kBatch;

  // What `range` of a batch has to be.
  Batch expected(std::span<const std::uint32_t> samples, Range range, std::int64_t epoch) const {
    Batch batch = Batch::empty(kImage, range.size(), transform_.mixes());
    transform_.fill(split_, samples, range, 5, epoch, batch);
    return batch;
  }
  void expect_batch(Loader& loader, std::span<const std::uint32_t> samples, Range range, std::int64_t epoch) const {
    const Batch found = loader.read(range);
    const Batch wanted = expected(samples, range, epoch);
    ASSERT_TRUE(std::ranges::equal(found.images.values(), wanted.images.values()));
    ASSERT_TRUE(std::ranges::equal(found.labels.values<std::int32_t>(), wanted.labels.values<std::int32_t>()));
    if (!transform_.mixes()) return;
    ASSERT_TRUE(
        std::ranges::equal(found.partner_labels.values<std::int32_t>(), wanted.partner_labels.values<std::int32_t>()));
    ASSERT_TRUE(std::ranges::equal(found.weights.values(), wanted.weights.values()));
  }
  // Two replicas read a batch in parts of seven.
  void expect_step(Loader& loader, std::span<const std::uint32_t> samples, std::int64_t epoch) const {
    loader.begin_step(samples, epoch);
    const auto replica = [&](Range part) {
      for (std::int64_t begin = part.begin; begin < part.end; begin += 7)
        expect_batch(loader, samples, {begin, std::min(begin + 7, part.end)}, epoch);
    };
    std::thread other([&] { replica(shard_range(std::ssize(samples), 2, 1)); });
    replica(shard_range(std::ssize(samples), 2, 0));
    other.join();
  }
  void wait_for_reads(std::int64_t count) const {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (images_->reads < count && std::chrono::steady_clock::now() < deadline)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    EXPECT_EQ(images_->reads, count);
  }

  std::shared_ptr<NumberedImages> images_ = std::make_shared<NumberedImages>(kImages, kImage);
  Split split_;
  Transform transform_ = Transform::parse("normalize:0.4:0.3,rotate:20,crop:1,flip,erase:0.5,mixup:0.4");
};

class LoaderThreadsTest : public LoaderTest, public testing::WithParamInterface<int> {};

TEST_P(LoaderThreadsTest, BatchesAreThoseOfTheTransform) {
  Loader loader = this->loader(GetParam());
  for (std::int64_t epoch = 0; epoch < 3; ++epoch) {
    const std::vector<std::uint32_t> order = this->order(epoch);
    loader.expect(order, kBatch, epoch);
    for (std::size_t step = 0; step < kSteps; ++step) expect_step(loader, batch_of(order, step), epoch);
  }
}

TEST_P(LoaderThreadsTest, AnEpochGoesOnInItsMiddle) {
  const std::vector<std::uint32_t> order = this->order(1);
  Loader loader = this->loader(GetParam());
  loader.expect(std::span(order).subspan(2 * kBatch), kBatch, 1);
  for (std::size_t step = 2; step < kSteps; ++step) expect_step(loader, batch_of(order, step), 1);
}

TEST_P(LoaderThreadsTest, StepsThatWereNotExpectedAreThereToo) {
  const std::vector<std::uint32_t> order = this->order(0);
  const std::vector<std::uint32_t> other = this->order(7);
  Loader loader = this->loader(GetParam());
  expect_step(loader, batch_of(other, 1), 3);
  loader.expect(order, kBatch, 0);
  expect_step(loader, batch_of(order, 0), 0);
  expect_step(loader, batch_of(other, 1), 3);
  expect_step(loader, batch_of(order, 1), 0);
  expect_step(loader, batch_of(order, 1), 1);  // another epoch
  expect_step(loader, batch_of(order, 2), 0);
  expect_step(loader, std::span(other).first(90), 3);
}

TEST_P(LoaderThreadsTest, TheOrderMayVanish) {
  Loader loader = this->loader(GetParam());
  const std::vector<std::uint32_t> order = this->order(0);
  {
    std::vector<std::uint32_t> passed = order;
    loader.expect(passed, kBatch, 0);
    std::ranges::fill(passed, 0u);
  }
  for (std::size_t step = 0; step < kSteps; ++step) expect_step(loader, batch_of(order, step), 0);
}

TEST_P(LoaderThreadsTest, AnImageThatCannotBeReadStopsItsStepOnly) {
  const std::vector<std::uint32_t> order = this->order(0);
  images_->bad = order[kBatch + 9];
  transform_ = Transform::parse("flip");
  Loader loader = this->loader(GetParam());
  loader.expect(order, kBatch, 0);
  expect_step(loader, batch_of(order, 0), 0);
  loader.begin_step(batch_of(order, 1), 0);
  expect_error(ErrorCode::data, fmt::format("image {} is damaged", images_->bad), [&] { loader.read({0, kBatch}); });
  expect_step(loader, batch_of(order, 2), 0);
}

TEST_P(LoaderThreadsTest, ASampleBeyondTheSplitIsAnError) {
  const std::vector<std::uint32_t> order = {1, 2, 1000};
  Loader loader = this->loader(GetParam());
  loader.expect(order, 3, 0);
  loader.begin_step(order, 0);
  expect_error(ErrorCode::usage, "sample 1000 of a split of 100", [&] { loader.read({0, 3}); });
}

TEST_P(LoaderThreadsTest, EachProcessGetsItsOwnPart) {
  const std::vector<std::uint32_t> order = this->order(0);
  for (const std::int64_t rank : {0, 1, 2}) {
    Loader loader(split_, transform_, {.seed = 5, .threads = GetParam(), .shards = 6, .own = {2 * rank, 2 * rank + 2}});
    loader.expect(order, kBatch, 0);
    for (std::size_t step = 0; step < kSteps; ++step) {
      const auto samples = batch_of(order, step);
      loader.begin_step(samples, 0);
      for (const std::int64_t shard : {2 * rank, 2 * rank + 1})
        expect_batch(loader, samples, shard_range(std::ssize(samples), 6, shard), 0);
    }
  }
}

// Whatever threads are doing when nobody wants it any more.
TEST_P(LoaderThreadsTest, StopsPromptlyWhereverItIs) {
  images_->delay = std::chrono::milliseconds(1);
  transform_ = Transform::parse("flip");
  const std::vector<std::uint32_t> order = this->order(0);
  const std::vector<std::uint32_t> next = this->order(1);
  Loader loader = this->loader(GetParam());
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < 3; ++i) {
    loader.expect(order, kBatch, 0);
    loader.begin_step(batch_of(order, 0), 0);
    loader.read({0, 5});
    loader.expect(next, kBatch, 1);
    expect_step(loader, batch_of(next, 0), 1);
    { Loader unused = this->loader(GetParam()); }
    Loader abandoned = this->loader(GetParam());
    abandoned.expect(order, kBatch, 0);
  }
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(60));
}

INSTANTIATE_TEST_SUITE_P(, LoaderThreadsTest, testing::Values(0, 1, 4),
                         [](const auto& info) { return fmt::format("of_{}", info.param); });

TEST_F(LoaderTest, ThreadsFillTheComingBatchesAndNoMore) {
  transform_ = Transform::parse("crop:1");
  const std::vector<std::uint32_t> order = this->order(0);
  Loader loader = this->loader(2);
  loader.expect(order, kBatch, 0);
  wait_for_reads(3 * kBatch);
  loader.begin_step(batch_of(order, 0), 0);
  loader.read({0, kBatch});
  EXPECT_EQ(images_->reads, 3 * kBatch);
  loader.begin_step(batch_of(order, 1), 0);
  wait_for_reads(4 * kBatch);
}

TEST_F(LoaderTest, OnlyTheOwnPartIsFilled) {
  transform_ = Transform::parse("crop:1");
  const std::vector<std::uint32_t> order = this->order(0);
  Loader loader(split_, transform_, {.seed = 5, .threads = 1, .shards = 3, .own = {1, 2}});
  loader.expect(order, kBatch, 0);
  wait_for_reads(kBatch);  // a third of each of three
  loader.begin_step(batch_of(order, 0), 0);
  EXPECT_EQ(loader.read({kBatch / 3, 2 * kBatch / 3}).size(), kBatch / 3);
}

TEST_F(LoaderTest, ASteadyStepTakesNoMemory) {
  const std::vector<std::uint32_t> order = this->order(0);
  for (const int threads : {0, 2}) {
    Loader loader = this->loader(threads);
    const auto epoch = [&] {
      loader.expect(order, kBatch, 0);
      for (std::size_t step = 0; step + 1 < kSteps; ++step) {
        loader.begin_step(batch_of(order, step), 0);
        for (std::int64_t begin = 0; begin < kBatch; begin += 6) loader.read({begin, begin + 6});
      }
    };
    epoch();
    // A thread takes memory when it works for the first time, whenever that is: the quietest epoch counts.
    std::int64_t fewest = std::numeric_limits<std::int64_t>::max();
    for (int i = 0; i < 10; ++i) {
      const AllocationCounter counter(AllocationCounter::Scope::all_threads);
      epoch();
      fewest = std::min(fewest, counter.count());
    }
    EXPECT_EQ(fewest, 0) << threads << " threads";
  }
}

}  // namespace
}  // namespace lockring::data
