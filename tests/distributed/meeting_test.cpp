#include "distributed/meeting.h"

#include "distributed/replica_team.h"
#include "tests/support/errors.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>

namespace lockring::dist {
namespace {

// Memory that a child process shares.
std::shared_ptr<std::byte> shared_memory(std::int64_t bytes) {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  return {static_cast<std::byte*>(memory), [bytes](std::byte* mapped) { munmap(mapped, bytes); }};
}

// A meeting of four: two replicas of this process and two of a child.
class MeetingOfProcesses : public testing::Test {
 protected:
  MeetingOfProcesses() { Meeting::create(memory_.get(), 4); }
  ~MeetingOfProcesses() override {
    if (child_ > 0) kill(child_, SIGKILL);
    int status = 0;
    if (child_ > 0) waitpid(child_, &status, 0);
  }

  Meeting meeting(std::chrono::milliseconds timeout = std::chrono::minutes(1)) const {
    Meeting meeting(memory_, 4);
    meeting.set_timeout(timeout);
    return meeting;
  }
  // The child's two replicas do `job`.
  void start_child(const std::function<void(ReplicaTeam&, int)>& job) {
    child_ = fork();
    if (child_ != 0) return;
    try {
      ReplicaTeam team(2, meeting(), 2);
      team.run([&](int replica) { job(team, replica); });
    } catch (const Error&) {
      _exit(4);
    } catch (...) {
      _exit(1);
    }
    _exit(0);
  }
  int exit_of_child() {
    int status = 0;
    waitpid(child_, &status, 0);
    child_ = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  std::shared_ptr<std::byte> memory_ = shared_memory(Meeting::bytes(4));
  pid_t child_ = 0;
};

TEST_F(MeetingOfProcesses, GoesOnInStep) {
  const auto counts = shared_memory(64);
  auto* sum = new (counts.get()) std::atomic<int>(0);
  const auto job = [sum](ReplicaTeam& team, int replica) {
    for (int round = 1; round <= 200; ++round) {
      ++*sum;
      team.meet(replica);
      if (*sum != 4 * round) throw std::runtime_error("out of step");
      team.meet(replica);
    }
  };
  start_child(job);
  ReplicaTeam team(2, meeting(), 0);
  team.run([&](int replica) { job(team, replica); });
  EXPECT_EQ(exit_of_child(), 0);
}

TEST_F(MeetingOfProcesses, AFailureInOneEndsTheOther) {
  start_child([](ReplicaTeam& team, int replica) {
    if (replica == 1) throw std::runtime_error("no more");
    team.meet(replica);
  });
  ReplicaTeam team(2, meeting(), 0);
  expect_error(ErrorCode::device, "a replica of another process has failed",
               [&] { team.run([&](int replica) { team.meet(replica); }); });
  EXPECT_EQ(exit_of_child(), 1);
}

TEST_F(MeetingOfProcesses, NamesThoseWhoDoNotCome) {
  start_child([](ReplicaTeam& team, int replica) {
    if (replica == 1) pause();
    team.meet(replica);
  });
  ReplicaTeam team(2, meeting(std::chrono::seconds(2)), 0);
  expect_error(ErrorCode::device, "waited in vain for replica 3 to come to a meeting",
               [&] { team.run([&](int replica) { team.meet(replica); }); });
}

TEST_F(MeetingOfProcesses, WaitsAsLongAsItsPatience) {
  start_child([](ReplicaTeam&, int) { pause(); });
  Meeting patient = meeting();
  std::atomic<int> asked = 0;
  patient.set_patience([&](const std::vector<int>& missing, std::chrono::milliseconds) {
    EXPECT_EQ(missing.back(), 3);
    return ++asked < 5;
  });
  ReplicaTeam team(2, patient, 0);
  team.set_explanation([](const std::vector<int>& missing) { return fmt::format("{} not here", missing.size()); });
  expect_error(ErrorCode::device, "2 not here", [&] { team.run([&](int replica) { team.meet(replica); }); });
  EXPECT_GE(asked, 5);
}

}  // namespace
}  // namespace lockring::dist
