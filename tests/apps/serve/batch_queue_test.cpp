#include "apps/serve/batch_queue.h"

#include "tests/apps/serve/fake_servable.h"

#include <gtest/gtest.h>

namespace lockring::app::serve {
namespace {

std::shared_ptr<Pending> pending(std::int64_t rows) {
  auto made = std::make_shared<Pending>();
  made->request.images = small_images(rows);
  made->arrived = Clock::now();
  return made;
}

TEST(BatchQueue, TakesWhatWaitsUpToABatch) {
  BatchQueue queue({.max_rows = 4}, 1);
  for (const std::int64_t rows : {1, 2, 2}) queue.push(pending(rows), 1, 0);
  EXPECT_EQ(queue.rows(), 5);
  const Batch first = queue.take(0);
  EXPECT_EQ(first.rows, 3) << "the third does not fit";
  EXPECT_EQ(first.parts.size(), 2u);
  EXPECT_EQ(first.release, Release::full);
  const Batch second = queue.take(0);
  EXPECT_EQ(second.rows, 2);
  EXPECT_EQ(second.release, Release::idle);
  EXPECT_TRUE(queue.empty());
}

TEST(BatchQueue, LargeRequestsAreDividedAmongTheReplicas) {
  BatchQueue queue({.max_rows = 64}, 2);
  const auto large = pending(100);
  queue.push(large, 2, 0);
  EXPECT_EQ(large->parts_left, 2);
  EXPECT_EQ(queue.parts_in(0), 1);
  EXPECT_EQ(queue.parts_in(1), 1);
  const auto small = pending(16);
  queue.push(small, 2, 0);
  EXPECT_EQ(small->parts_left, 1) << "not worth another core";
  BatchQueue narrow({.max_rows = 1}, 2);
  const auto three = pending(3);
  narrow.push(three, 2, 0);
  EXPECT_EQ(three->parts_left, 3) << "no batch is larger than allowed";
}

TEST(BatchQueue, SlowModelsHaveSmallerBatches) {
  BatchQueue queue({.max_rows = 64}, 1);
  queue.limit(2);
  const auto large = pending(20);
  queue.push(large, 1, 0);
  EXPECT_EQ(large->parts_left, 10);
  EXPECT_EQ(queue.take(0).rows, 2);
  queue.limit(0);
  EXPECT_EQ(queue.take(0).rows, 2) << "what has been divided is not divided again";
  queue.limit(1000);
  EXPECT_EQ(queue.take(0).rows, 16) << "all that is left";
}

TEST(BatchQueue, AFreeReplicaTakesFromOthersLanes) {
  BatchQueue queue({.max_rows = 8}, 3);
  queue.push(pending(1), 3, 1);
  queue.push(pending(1), 3, 1);
  EXPECT_EQ(queue.take(0).rows, 2);
  EXPECT_TRUE(queue.empty());
}

TEST(BatchQueue, NobodyWaitsForASlowReplicaMuchLongerThanOthers) {
  BatchQueue queue({.max_rows = 1}, 2);
  const auto first = pending(1), second = pending(1), third = pending(1);
  first->arrived -= std::chrono::seconds(2);
  second->arrived -= std::chrono::seconds(1);
  queue.push(first, 2, 0);
  queue.push(second, 2, 0);
  queue.push(third, 2, 1);
  EXPECT_EQ(queue.take(1).parts[0].pending, first);
  EXPECT_EQ(queue.take(1).parts[0].pending, second);
  EXPECT_EQ(queue.take(1).parts[0].pending, third);
}

TEST(BatchQueue, ALoneRequestIsDueAtOnceAndSeveralAfterTheDelay) {
  BatchQueue queue({.max_rows = 3, .max_delay = std::chrono::hours(1)}, 1);
  const auto first = pending(1);
  queue.push(first, 1, 0);
  EXPECT_LT(queue.due(), Clock::now());
  queue.push(pending(1), 1, 0);
  EXPECT_EQ(queue.due(), first->arrived + std::chrono::hours(1));
  queue.push(pending(1), 1, 0);
  EXPECT_LT(queue.due(), Clock::now()) << "the batch is full";
}

TEST(BatchQueue, AnsweredAndRemovedRequestsAreNotComputed) {
  BatchQueue queue({.max_rows = 8}, 1);
  const auto late = pending(1);
  const auto gone = pending(20);
  queue.push(late, 1, 0);
  queue.push(gone, 1, 0);
  queue.push(pending(1), 1, 0);
  late->answered = true;
  queue.remove(*gone);
  EXPECT_EQ(queue.rows(), 2);
  const Batch batch = queue.take(0);
  EXPECT_EQ(batch.parts.size(), 1u);
  EXPECT_TRUE(queue.empty());
  EXPECT_EQ(queue.rows(), 0);
}

}  // namespace
}  // namespace lockring::app::serve
