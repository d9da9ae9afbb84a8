#include "distributed/roster.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

namespace lockring::dist {
namespace {

std::shared_ptr<std::byte> shared_zeros(std::int64_t bytes) {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  return {static_cast<std::byte*>(memory), [bytes](std::byte* mapped) { munmap(mapped, bytes); }};
}

TEST(Roster, TellsWhatEachRankDoes) {
  const auto memory = shared_zeros(Roster::bytes(3));
  const Roster first(memory, 3, 0), third(memory, 3, 2);
  EXPECT_EQ(first.place_of(2), "start");
  third.note(12, Phase::exchange);
  EXPECT_EQ(first.place_of(2), "step 12, exchange");
  EXPECT_EQ(first.phase_of(2), Phase::exchange);
  EXPECT_EQ(first.place_of(0), "start");
  third.note(std::int64_t{1} << 40, Phase::saving);
  EXPECT_EQ(third.place_of(2), "step 1099511627776, saving");
}

// Two ranks: this process, and a child that does as it is told.
class RosterOfProcesses : public testing::Test {
 protected:
  void start(bool leaves) {
    child_ = fork();
    if (child_ == 0) {
      const Roster own(memory_, 2, 1);
      if (leaves) own.leave();
      own.note(7, Phase::gradient);
      for (;;) pause();
    }
    while (roster_.place_of(1) == "start") usleep(100);
    roster_.watch();
  }
  void end() {
    kill(child_, SIGKILL);
    siginfo_t info{};
    waitid(P_PID, child_, &info, WEXITED | WNOWAIT);  // it has died, and nobody has taken note yet
  }
  ~RosterOfProcesses() override {
    int status = 0;
    waitpid(child_, &status, 0);
  }

  const std::shared_ptr<std::byte> memory_ = shared_zeros(Roster::bytes(2));
  Roster roster_{memory_, 2, 0};
  pid_t child_ = 0;
};

TEST_F(RosterOfProcesses, SeesADeathAtOnce) {
  start(false);
  EXPECT_EQ(roster_.dead(), std::vector<int>{});
  end();
  EXPECT_EQ(roster_.dead(), std::vector<int>{1});
  EXPECT_EQ(roster_.place_of(1), "step 7, gradient") << "where it was last seen";
}

TEST_F(RosterOfProcesses, WhoLeavesIsNotMissed) {
  start(true);
  end();
  EXPECT_EQ(roster_.dead(), std::vector<int>{});
}

}  // namespace
}  // namespace lockring::dist
