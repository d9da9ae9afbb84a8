#include "distributed/replica_team.h"

#include "tests/support/allocation_counter.h"
#include "tests/support/errors.h"
#include "tests/support/thread_limit.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace lockring::dist {
namespace {

int more_than_cores() { return 2 * static_cast<int>(std::thread::hardware_concurrency()) + 3; }

TEST(ReplicaTeam, RunsAJobOnEveryReplicaOnThreadsThatStay) {
  ReplicaTeam team(4);
  EXPECT_EQ(team.size(), 4);
  std::vector<std::thread::id> ids(4);
  team.run([&](int replica) { ids[replica] = std::this_thread::get_id(); });
  EXPECT_EQ(ids[0], std::this_thread::get_id());
  EXPECT_EQ(std::set<std::thread::id>(ids.begin(), ids.end()).size(), 4u);
  std::vector<int> jobs(4, 0);
  for (int round = 0; round < 100; ++round)
    team.run([&](int replica) { jobs[replica] += ids[replica] == std::this_thread::get_id() ? 1 : 0; });
  EXPECT_EQ(jobs, std::vector<int>(4, 100));
}

TEST(ReplicaTeam, OfOneRunsOnItsOwner) {
  ReplicaTeam team(1);
  int rounds = 0;
  team.run([&](int replica) {
    EXPECT_EQ(replica, 0);
    for (int i = 0; i < 1000; ++i) {
      team.meet(replica);
      ++rounds;
    }
  });
  EXPECT_EQ(rounds, 1000);
  EXPECT_THROW(team.run([](int) { throw std::runtime_error("alone"); }), std::runtime_error);
  expect_error(ErrorCode::device, "a replica has failed", [&] { team.run([](int) {}); });
}

TEST(ReplicaTeam, RefusesFewerThanOneReplica) {
  expect_error(ErrorCode::usage, "a team of 0 replicas", [] { ReplicaTeam(0); });
  expect_error(ErrorCode::usage, "-3", [] { ReplicaTeam(-3); });
}

TEST(ReplicaTeam, SaysSoIfThereCannotBeSoManyThreads) {
  const ScopedThreadLimit limit;
  expect_error(ErrorCode::device, "cannot start 16 replicas", [] { ReplicaTeam(16); });
  ReplicaTeam(2).run([](int) {});
}

// Plain memory: what one wrote before a meeting all read behind it, and nobody writes before all have read.
void expect_ordered_writes(int replicas, int jobs, int rounds) {
  ReplicaTeam team(replicas);
  std::vector<std::int64_t> values(replicas, 0);
  std::vector<std::int64_t> wrong(replicas, 0);
  for (int job = 0; job < jobs; ++job) {
    team.run([&](int replica) {
      for (int round = 0; round < rounds; ++round) {
        values[replica] += replica + 1;
        team.meet(replica);
        for (int other = 0; other < replicas; ++other)
          wrong[replica] += values[other] != std::int64_t{other + 1} * (job * rounds + round + 1) ? 1 : 0;
        team.meet(replica);
      }
    });
    ASSERT_EQ(values.back(), std::int64_t{replicas} * (job + 1) * rounds);  // run() orders as well
  }
  EXPECT_EQ(wrong, std::vector<std::int64_t>(replicas, 0));
}

TEST(ReplicaTeam, MeetOrdersWrites) { expect_ordered_writes(2, 10, 500); }

TEST(ReplicaTeam, ManagesMoreReplicasThanCores) { expect_ordered_writes(more_than_cores(), 3, 50); }

TEST(ReplicaTeam, RunAllocatesNothing) {
  ReplicaTeam team(3);
  std::vector<int> done(3, 0);
  const std::function<void(int)> job = [&](int replica) {
    team.meet(replica);
    ++done[replica];
  };
  team.run(job);
  const AllocationCounter counter(AllocationCounter::Scope::all_threads);
  for (int i = 0; i < 50; ++i) team.run(job);
  EXPECT_EQ(counter.count(), 0);
  EXPECT_EQ(done, std::vector<int>(3, 51));
}

// Runs a job that replica `failing` leaves by an exception, while the others go on to meet.
std::string failure_of(ReplicaTeam& team, int failing, std::atomic<int>& passed) {
  try {
    team.run([&](int replica) {
      team.meet(replica);
      if (replica == failing) fail(ErrorCode::data, "replica {} has had enough", replica);
      team.meet(replica);
      ++passed;
    });
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(ReplicaTeam, AFailureReleasesTheOthersAndSurfacesOnce) {
  for (const int replicas : {2, 3, more_than_cores()}) {
    for (const int failing : {0, 1, replicas - 1}) {
      ReplicaTeam team(replicas);
      std::atomic<int> passed{0};
      EXPECT_EQ(failure_of(team, failing, passed), "replica " + std::to_string(failing) + " has had enough");
      EXPECT_EQ(passed, 0);
      // A team that lost one of its replicas says so and runs nothing.
      expect_error(ErrorCode::device, "a replica has failed; the others cannot go on without it",
                   [&] { team.run([&](int) { ++passed; }); });
      EXPECT_EQ(passed, 0);
    }
  }
}

TEST(ReplicaTeam, ThoseWhoDoNotMeetFinishTheirJob) {
  ReplicaTeam team(3);
  std::atomic<int> finished{0};
  EXPECT_THROW(team.run([&](int replica) {
    if (replica == 2) throw std::runtime_error("early");
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    ++finished;
  }),
               std::runtime_error);
  EXPECT_EQ(finished, 2);
}

TEST(ReplicaTeam, OfSeveralFailuresOneSurfaces) {
  ReplicaTeam team(5);
  try {
    team.run([](int replica) { throw replica; });
    ADD_FAILURE() << "nothing was thrown";
  } catch (const int replica) {
    EXPECT_TRUE(replica >= 0 && replica < 5) << replica;
  }
}

// At whatever moment it fails: nobody is left waiting.
TEST(ReplicaTeam, AFailureInTheMiddleOfRoundsReleasesEveryone) {
  for (int trial = 0; trial < 100; ++trial) {
    ReplicaTeam team(3);
    EXPECT_THROW(team.run([&](int replica) {
      for (int round = 0;; ++round) {
        if (replica == trial % 3 && round == trial / 3) throw std::runtime_error("now");
        team.meet(replica);
      }
    }),
                 std::runtime_error);
  }
}

TEST(ReplicaTeam, TeamsDoNotDisturbEachOther) {
  std::vector<std::thread> owners;
  for (int i = 0; i < 2; ++i) owners.emplace_back([] { expect_ordered_writes(2, 5, 50); });
  for (std::thread& owner : owners) owner.join();
}

TEST(ReplicaTeam, EndsWithoutEverRunning) { const ReplicaTeam team(more_than_cores()); }

}  // namespace
}  // namespace lockring::dist
