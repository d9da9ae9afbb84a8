#include "apps/balance/policy.h"

#include "tests/support/errors.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

namespace lockring::app::balance {
namespace {

// How often each of `candidates` is picked in `count` picks.
std::vector<int> picks(Policy& policy, const std::vector<Candidate>& candidates, int count) {
  std::vector<int> times(candidates.size());
  for (int i = 0; i < count; ++i) ++times[policy.pick(candidates, {})];
  return times;
}

class EveryPolicy : public testing::TestWithParam<std::string> {
 protected:
  std::unique_ptr<Policy> policy_ = make_policy(GetParam());
};
INSTANTIATE_TEST_SUITE_P(Policies, EveryPolicy, testing::ValuesIn(policy_names().begin(), policy_names().end()),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::erase(name, '-');
                           return name;
                         });

TEST_P(EveryPolicy, PicksNoneOfNone) {
  EXPECT_EQ(policy_->pick({}, {}), kNone);
  EXPECT_EQ(policy_->pick(std::vector<Candidate>{{0, 0}, {-1, 0}}, {hash_key("a")}), kNone);
}

TEST_P(EveryPolicy, PicksOnlyThoseWithWeight) {
  const std::vector<Candidate> candidates = {{0, 0}, {1, 9}, {0, 0}, {1, 9}};
  for (std::uint64_t key = 0; key < 200; ++key) {
    const std::size_t picked = policy_->pick(candidates, {key});
    EXPECT_TRUE(picked == 1 || picked == 3) << picked;
  }
}

TEST_P(EveryPolicy, UsesAllThatAreEquallyIdle) {
  const std::vector<int> times = picks(*policy_, std::vector<Candidate>(4), 4000);
  for (const int count : times) EXPECT_GT(count, 700);
}

TEST(RoundRobin, InterleavesByWeight) {
  const auto policy = make_policy("round-robin");
  const std::vector<Candidate> candidates = {{5, 0}, {1, 0}, {1, 0}};
  std::string order;
  for (int i = 0; i < 7; ++i) order += static_cast<char>('a' + policy->pick(candidates, {}));
  EXPECT_EQ(order, "aabacaa");  // the sequence of nginx for 5, 1, 1
}

TEST(LeastConnections, CountsByWeight) {
  const auto policy = make_policy("least-connections");
  EXPECT_EQ(policy->pick(std::vector<Candidate>{{1, 3}, {1, 2}, {1, 4}}, {}), 1u);
  EXPECT_EQ(policy->pick(std::vector<Candidate>{{1, 2}, {4, 6}}, {}), 1u);  // 3 / 1 against 7 / 4
}

TEST(PowerOfTwo, NeverPicksTheWorst) {
  const auto policy = make_policy("power-of-two");
  const std::vector<Candidate> candidates = {{1, 5}, {1, 1}, {0, 0}, {1, 3}};
  const std::vector<int> times = picks(*policy, candidates, 3000);
  EXPECT_EQ(times[0], 0);
  EXPECT_GT(times[1], times[3]);
  EXPECT_GT(times[3], 0);
}

TEST(Hash, KeepsKeysWhereTheyAreWhenOneGoes) {
  const auto policy = make_policy("hash");
  std::vector<Candidate> candidates(5);
  std::map<std::uint64_t, std::size_t> before;
  for (int i = 0; i < 2000; ++i) {
    const std::uint64_t key = hash_key(std::to_string(i));
    before[key] = policy->pick(candidates, {key});
    EXPECT_EQ(policy->pick(candidates, {key}), before[key]);
  }
  candidates[2].weight = 0;
  int moved = 0;
  for (const auto& [key, place] : before) {
    const std::size_t now = policy->pick(candidates, {key});
    EXPECT_TRUE(now == place || place == 2);
    moved += now != place ? 1 : 0;
  }
  EXPECT_GT(moved, 250);
  EXPECT_LT(moved, 600);
}

TEST(Hash, SharesKeysByWeight) {
  const auto policy = make_policy("hash");
  const std::vector<Candidate> candidates = {{1, 0}, {3, 0}};
  int second = 0;
  for (int i = 0; i < 4000; ++i) second += policy->pick(candidates, {hash_key(std::to_string(i))}) == 1 ? 1 : 0;
  EXPECT_NEAR(second, 3000, 150);
}

TEST(MakePolicy, NamesTheKnownOnes) {
  expect_error(ErrorCode::usage, "did you mean 'round-robin'", [] { make_policy("round-robbin"); });
}

}  // namespace
}  // namespace lockring::app::balance
