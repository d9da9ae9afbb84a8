#include "distributed/schedule.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

namespace lockring::dist {
namespace {

constexpr Algorithm kAll[] = {Algorithm::ring, Algorithm::recursive_doubling, Algorithm::halving_doubling};

// Which ranks' vectors an element of a rank's vector is the sum of.
using Sums = std::vector<std::multiset<int>>;

// Carries out all ranks' schedules, messages in order; what is sent is what the rank holds at that moment.
std::vector<Sums> carry_out(Algorithm algorithm, int size, std::int64_t elements) {
  std::vector<std::vector<Round>> schedules;
  std::vector<Sums> held(size, Sums(elements));
  std::vector<std::size_t> round(size, 0);
  std::vector<bool> sent(size, false);
  std::map<std::pair<int, int>, std::vector<Sums>> messages;
  for (int rank = 0; rank < size; ++rank) {
    schedules.push_back(make_schedule(algorithm, size, rank, elements));
    for (auto& sum : held[rank]) sum = {rank};
  }
  for (bool moved = true; moved;) {
    moved = false;
    for (int rank = 0; rank < size; ++rank) {
      if (round[rank] == schedules[rank].size()) continue;
      const Round& r = schedules[rank][round[rank]];
      if (!sent[rank] && r.sent.size() > 0)
        messages[{rank, r.to}].emplace_back(held[rank].begin() + r.sent.begin, held[rank].begin() + r.sent.end);
      moved |= !sent[rank];
      sent[rank] = true;
      if (r.received.size() > 0) {
        auto& queue = messages[{r.from, rank}];
        if (queue.empty()) continue;
        EXPECT_EQ(static_cast<std::int64_t>(queue.front().size()), r.received.size());
        for (std::int64_t i = 0; i < r.received.size(); ++i) {
          auto& own = held[rank][r.received.begin + i];
          if (!r.adds) own.clear();
          own.insert(queue.front()[i].begin(), queue.front()[i].end());
        }
        queue.erase(queue.begin());
      }
      ++round[rank];
      sent[rank] = false;
      moved = true;
    }
  }
  for (int rank = 0; rank < size; ++rank) EXPECT_EQ(round[rank], schedules[rank].size()) << "rank " << rank << " waits";
  for (const auto& [ranks, queue] : messages) EXPECT_TRUE(queue.empty()) << ranks.first << " to " << ranks.second;
  return held;
}

TEST(Schedule, SumsEveryRankOnceOnEveryRank) {
  for (const Algorithm algorithm : kAll)
    for (int size = 1; size <= 9; ++size)
      for (const std::int64_t elements : {0, 1, 2, 3, 5, 7, 8, 9, 17, 64}) {
        std::multiset<int> everyone;
        for (int rank = 0; rank < size; ++rank) everyone.insert(rank);
        for (const Sums& held : carry_out(algorithm, size, elements))
          for (const auto& sum : held)
            ASSERT_EQ(sum, everyone) << to_string(algorithm) << " " << size << " " << elements;
      }
}

std::int64_t bytes_sent(Algorithm algorithm, int size, int rank, std::int64_t elements) {
  std::int64_t sum = 0;
  for (const Round& round : make_schedule(algorithm, size, rank, elements)) sum += round.sent.size();
  return sum;
}

TEST(Schedule, RingAndHalvingSendWhatTheBoundAllows) {
  for (int rank = 0; rank < 4; ++rank) {
    EXPECT_EQ(bytes_sent(Algorithm::ring, 4, rank, 400), 2 * 400 * 3 / 4);
    EXPECT_EQ(bytes_sent(Algorithm::halving_doubling, 4, rank, 400), 2 * 400 * 3 / 4);
    EXPECT_EQ(bytes_sent(Algorithm::recursive_doubling, 4, rank, 400), 2 * 400);
  }
  EXPECT_EQ(make_schedule(Algorithm::ring, 8, 0, 800).size(), 14u);
  EXPECT_EQ(make_schedule(Algorithm::halving_doubling, 8, 0, 800).size(), 6u);
  EXPECT_EQ(make_schedule(Algorithm::recursive_doubling, 8, 0, 800).size(), 3u);
}

}  // namespace
}  // namespace lockring::dist
