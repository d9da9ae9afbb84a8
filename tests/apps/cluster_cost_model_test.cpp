#include "apps/cluster/cost_model.h"

#include <gtest/gtest.h>

namespace lockring::app {
namespace {

using dist::Algorithm;

// A message costs 1 s, a byte 0.001 s, an image 1 s.
CostModel simple() {
  CostModel model;
  model.bytes = 8000;
  model.compute = {{10, 12}, {20, 22}, {40, 42}};
  model.backward_share = 0.5;
  model.update_seconds = 4;
  model.meeting_seconds = 0.5;
  model.memory_seconds_per_byte = 1e-4;
  model.latency_seconds = 1;
  model.link_seconds_per_byte = 1e-3;
  return model;
}

TEST(CostModel, FitsALineThroughShortAndLongMessages) {
  const Line exact = fit_line({{1000, 3}, {2000, 5}, {1000000, 2001}});
  EXPECT_NEAR(exact.fixed, 1, 1e-9);
  EXPECT_NEAR(exact.slope, 2e-3, 1e-12);
  // An error of a tenth in the long one hardly moves what the short ones say.
  EXPECT_NEAR(fit_line({{10, 1}, {20, 1}, {1000000, 1100}, {1000000, 900}}).fixed, 1, 0.05);
  EXPECT_EQ(fit_line({{1000, 1}, {2000, 3}}).fixed, 0) << "no message takes less than no time";
  EXPECT_EQ(fit_line({{1000, 3}, {2000, 1}}).slope, 0);
}

TEST(CostModel, ComputingIsALineBetweenAndBeyondWhatWasMeasured) {
  EXPECT_DOUBLE_EQ(compute_seconds(simple(), 20), 22);
  EXPECT_DOUBLE_EQ(compute_seconds(simple(), 30), 32);
  EXPECT_DOUBLE_EQ(compute_seconds(simple(), 5), 7);
  EXPECT_DOUBLE_EQ(compute_seconds(simple(), 80), 82);
  CostModel one = simple();
  one.compute = {{10, 12}};
  EXPECT_DOUBLE_EQ(compute_seconds(one, 5), 6);
}

TEST(CostModel, ExchangesCostWhatTheirSchedulesSay) {
  const CostModel model = simple();
  EXPECT_EQ(exchange_seconds(model, Algorithm::ring, 1, 8000), 0);
  EXPECT_DOUBLE_EQ(exchange_seconds(model, Algorithm::ring, 4, 8000), 6 + 12);
  EXPECT_DOUBLE_EQ(exchange_seconds(model, Algorithm::halving_doubling, 4, 8000), 4 + 12);
  EXPECT_DOUBLE_EQ(exchange_seconds(model, Algorithm::recursive_doubling, 4, 8000), 2 + 16);
  // The third host gives all to its neighbour, and gets all back.
  EXPECT_DOUBLE_EQ(exchange_seconds(model, Algorithm::halving_doubling, 3, 8000), 2 + 2 + 8 + 16);
}

// Counts what the schedules of the real algorithms send, host by host.
TEST(CostModel, AgreesWithTheSchedules) {
  CostModel bytes_only = simple();
  bytes_only.latency_seconds = 0;
  bytes_only.link_seconds_per_byte = 1;
  constexpr std::int64_t kElements = 5040;  // divides by everything below
  for (const Algorithm algorithm : {Algorithm::ring, Algorithm::recursive_doubling, Algorithm::halving_doubling})
    for (const int hosts : {2, 4, 8}) {
      std::int64_t sent = 0;
      for (const dist::Round& round : dist::make_schedule(algorithm, hosts, 0, kElements)) sent += round.sent.size();
      EXPECT_DOUBLE_EQ(exchange_seconds(bytes_only, algorithm, hosts, kElements * 4), static_cast<double>(4 * sent))
          << to_string(algorithm) << " " << hosts;
    }
}

TEST(CostModel, TheUsualExchangeDependsOnHostsAndBytes) {
  for (const int hosts : {2, 3, 4, 8}) EXPECT_EQ(usual_exchange(hosts, 16 << 20), Algorithm::ring) << hosts;
  EXPECT_EQ(usual_exchange(2, 4096), Algorithm::ring) << "the same messages, and it adds meanwhile";
  EXPECT_EQ(usual_exchange(4, 1600000), Algorithm::ring);
  EXPECT_EQ(usual_exchange(512, 400000), Algorithm::halving_doubling) << "a ring would take a thousand messages";
  EXPECT_EQ(usual_exchange(500, 400000), Algorithm::halving_doubling);
}

TEST(CostModel, AStepIsTheSumOfItsParts) {
  const StepCost alone = predict_step(simple(), {.shard = 20});
  EXPECT_DOUBLE_EQ(alone.step(), 22 + 4);
  const StepCost node = predict_step(simple(), {.replicas = 2, .shard = 20});
  EXPECT_DOUBLE_EQ(node.update, 2);
  EXPECT_DOUBLE_EQ(node.node, 1.5 + 3 * 0.8);
  const StepCost hosts = predict_step(simple(), {.hosts = 4, .shard = 20, .exchange = Algorithm::ring});
  EXPECT_DOUBLE_EQ(hosts.exchange, 18 + 2) << "and the few numbers beside the gradient";
  EXPECT_DOUBLE_EQ(hosts.step(), 22 + 4 + 20);
}

TEST(CostModel, ReplicasThatShareCoresTakeTurns) {
  const StepCost cost = predict_step(simple(), {.hosts = 4, .cores = 2, .shard = 20});
  EXPECT_DOUBLE_EQ(cost.compute, 44);
  EXPECT_DOUBLE_EQ(cost.update, 8);
  EXPECT_DOUBLE_EQ(predict_step(simple(), {.hosts = 3, .cores = 2, .shard = 20}).compute, 44) << "the fullest counts";
  EXPECT_DOUBLE_EQ(predict_step(simple(), {.hosts = 2, .cores = 2, .shard = 20}).compute, 22);
}

TEST(CostModel, BackwardHidesBucketsButTheLast) {
  // Backward takes 11 s and has 4 buckets; each takes 2 messages and 2000 bytes between two hosts: 4 s.
  const JobShape shape{.hosts = 2, .shard = 20, .buckets = {2000, 2000, 2000, 2000}, .exchange = Algorithm::ring};
  const StepCost cost = predict_step(simple(), shape);
  // They are ready after 2.75, 5.5, 8.25 and 11 s, and sent until 2.75 + 4 * 4 s; the tail takes one more message.
  EXPECT_DOUBLE_EQ(cost.exposed, 2.75 + 16 - 11 + 1);
  JobShape fast = shape;
  fast.shard = 200;  // backward takes 101 s: only the last bucket is left
  EXPECT_DOUBLE_EQ(predict_step(simple(), fast).exposed, 4 + 1);
  fast.last_micro_batch = 20;  // gradients are ready in the last micro-batch only
  EXPECT_GT(predict_step(simple(), fast).exposed, 5);
}

TEST(CostModel, ALinkThatRestedSendsAtOnceWhatItSavedUp) {
  CostModel cost = simple();  // 1 ms a byte
  cost.burst_bytes = 3000;
  const JobShape shape{.hosts = 2, .shard = 20, .exchange = Algorithm::ring};
  const double all = exchange_seconds(cost, Algorithm::ring, 2, cost.bytes) + 1;
  EXPECT_DOUBLE_EQ(predict_step(simple(), shape).exposed, all);
  EXPECT_DOUBLE_EQ(predict_step(cost, shape).exposed, all - 3);
  JobShape never_still = shape;  // hardly any time to save up in
  never_still.shard = 1;
  cost.update_seconds = 0;
  cost.compute = {{1, 0}, {2, 0}};
  EXPECT_NEAR(predict_step(cost, never_still).exposed, all - 1, 1e-9) << "what the short message at the end leaves";
}

TEST(CostModel, FindsTheBurstsOfALinkInTimesAfterAPause) {
  CostModel cost;
  cost.latency_seconds = 1e-4;
  cost.link_seconds_per_byte = 8e-9;
  // Between two hosts each sends as many bytes as are added up.
  std::vector<TimeOfBytes> rested, steady;
  for (const std::int64_t bytes : {4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20}) {
    const double all = exchange_seconds(cost, Algorithm::ring, 2, bytes);
    steady.push_back({bytes, 0.99 * all});
    rested.push_back({bytes, all - 7e-9 * static_cast<double>(std::min<std::int64_t>(bytes, 200000))});
  }
  fit_burst(rested, 2, cost);
  EXPECT_NEAR(cost.burst_bytes, 200000, 1);
  EXPECT_NEAR(cost.burst_seconds_per_byte, 1e-9, 1e-12);
  fit_burst(steady, 2, cost);
  EXPECT_EQ(cost.burst_bytes, 0) << "noise";
}

}  // namespace
}  // namespace lockring::app
