#include "apps/balance/backend.h"

#include "tests/support/errors.h"

#include <gtest/gtest.h>

namespace lockring::app::balance {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

const Clock::time_point kStart = Clock::now();

std::shared_ptr<Backend> backend(const HealthOptions& health = {}, double weight = 1) {
  return std::make_shared<Backend>(BackendUrl{http::parse_url("http://a:1"), weight}, http::Destination(), health);
}

TEST(ParseBackend, KnowsWeights) {
  EXPECT_EQ(parse_backend("http://a:1").weight, 1);
  EXPECT_EQ(parse_backend("http://a:1*2.5").weight, 2.5);
  EXPECT_EQ(parse_backend("a:1*3").url.port, "1");
  for (const char* text : {"a:1*", "a:1*0", "a:1*-1", "a:1*x", "a:1*2x", "a:1*nan", "a:1*1e9"})
    expect_error(ErrorCode::usage, "weight", [&] { parse_backend(text); });
  expect_error(ErrorCode::usage, "has a path", [] { parse_backend("http://a:1/v2"); });
}

TEST(Backend, IsUpUntilACheckSaysOtherwise) {
  const auto one = backend();
  EXPECT_TRUE(one->is_up(kStart));
  one->note_check(false, kStart);  // the first decides at once
  EXPECT_FALSE(one->is_up(kStart));
}

TEST(Backend, FallsAndRisesAfterSeveralChecks) {
  const auto one = backend();
  one->note_check(true, kStart);
  for (const bool ok : {false, false, true, false, false}) {
    one->note_check(ok, kStart);
    EXPECT_TRUE(one->is_up(kStart));
  }
  one->note_check(false, kStart);
  EXPECT_FALSE(one->is_up(kStart));
  for (const bool ok : {true, false, true}) {
    one->note_check(ok, kStart);
    EXPECT_FALSE(one->is_up(kStart));
  }
  one->note_check(true, kStart);
  EXPECT_TRUE(one->is_up(kStart));
  EXPECT_EQ(one->counts.failed_checks, 6);
}

TEST(Backend, ComesBackSlowly) {
  HealthOptions health;
  health.slow_start = seconds(10);
  const auto one = backend(health, 4);
  EXPECT_EQ(one->weight(kStart), 4);
  one->note_check(false, kStart);
  one->note_check(true, kStart);
  one->note_check(true, kStart);
  EXPECT_DOUBLE_EQ(one->weight(kStart), 0.4);
  EXPECT_DOUBLE_EQ(one->weight(kStart + seconds(5)), 2);
  EXPECT_DOUBLE_EQ(one->weight(kStart + seconds(11)), 4);
}

TEST(Backend, IsEjectedForARowOfFailures) {
  const auto one = backend();
  for (int i = 0; i < 4; ++i) EXPECT_FALSE(one->note_request(false, true, kStart));
  one->note_request(true, true, kStart);  // which ends the row
  for (int i = 0; i < 4; ++i) EXPECT_FALSE(one->note_request(false, true, kStart));
  EXPECT_FALSE(one->note_request(false, false, kStart));  // too many others are
  EXPECT_TRUE(one->note_request(false, true, kStart));
  EXPECT_FALSE(one->is_up(kStart + seconds(29)));
  EXPECT_TRUE(one->is_up(kStart + seconds(30)));
  EXPECT_EQ(one->counts.ejections, 1);
}

TEST(Backend, IsEjectedLongerEachTime) {
  const auto one = backend();
  auto now = kStart;
  for (int times = 1; times <= 12; ++times) {
    for (int i = 0; i < 5; ++i) one->note_request(false, true, now);
    now += std::min(times, 10) * seconds(30);
    EXPECT_FALSE(one->is_up(now - milliseconds(1))) << times;
    EXPECT_TRUE(one->is_up(now)) << times;
  }
}

TEST(Backend, AGoodCheckEndsAnEjection) {
  const auto one = backend();
  for (int i = 0; i < 5; ++i) one->note_request(false, true, kStart);
  one->note_check(true, kStart + seconds(2));
  EXPECT_TRUE(one->is_up(kStart + seconds(2)));
  EXPECT_LT(one->weight(kStart + seconds(2)), 1);
}

TEST(Backend, IsNeverEjectedIfNotWanted) {
  HealthOptions health;
  health.eject_after = 0;
  const auto one = backend(health);
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(one->note_request(false, true, kStart));
}

TEST(MayEject, KeepsEnough) {
  Backends backends;
  const HealthOptions health;  // half of them
  const auto eject = [&](std::size_t i) {
    for (int k = 0; k < 5; ++k) backends[i]->note_request(false, true, kStart);
  };
  backends.push_back(backend());
  EXPECT_FALSE(may_eject(backends, health, kStart));
  backends.push_back(backend());
  EXPECT_TRUE(may_eject(backends, health, kStart));
  eject(0);
  EXPECT_FALSE(may_eject(backends, health, kStart));
  backends.push_back(backend());
  EXPECT_FALSE(may_eject(backends, health, kStart));
  backends.push_back(backend());
  EXPECT_TRUE(may_eject(backends, health, kStart));
}

TEST(Snapshot, UsesAllInPanic) {
  Backends backends;
  for (int i = 0; i < 5; ++i) backends.push_back(backend());
  for (int i = 0; i < 2; ++i) backends[static_cast<std::size_t>(i)]->note_check(false, kStart);
  Snapshot snapshot;
  take_snapshot(backends, kStart, snapshot);
  EXPECT_EQ(snapshot.up, 3);
  EXPECT_FALSE(snapshot.panic);
  EXPECT_EQ(snapshot.candidates[0].weight, 0);
  backends[2]->note_check(false, kStart);
  take_snapshot(backends, kStart, snapshot);
  EXPECT_TRUE(snapshot.panic);
  for (const Candidate& candidate : snapshot.candidates) EXPECT_EQ(candidate.weight, 1);
  for (std::size_t i = 0; i < 2; ++i) backends[i]->note_reachable(false);
  take_snapshot(backends, kStart, snapshot);
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(snapshot.candidates[i].weight, i < 2 ? 0 : 1) << i;
  for (const auto& one : backends) one->note_reachable(false);
  take_snapshot(backends, kStart, snapshot);
  EXPECT_EQ(snapshot.candidates[0].weight, 1);  // there is nothing to lose
}

}  // namespace
}  // namespace lockring::app::balance
