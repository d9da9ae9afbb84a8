#include "core/barrier.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

namespace lockring {
namespace {

// Runs `f(id)` on `count` threads.
template <class F>
void on_threads(int count, F f) {
  std::vector<std::thread> threads;
  for (int id = 0; id < count; ++id) threads.emplace_back(f, id);
  for (std::thread& thread : threads) thread.join();
}

// Plain memory that one thread writes and all read, in turn: the thread sanitizer watches the order too.
void expect_rounds_in_step(int threads, int rounds) {
  Barrier barrier(threads);
  std::vector<int> progress(threads, 0);
  std::atomic<int> wrong{0};
  on_threads(threads, [&](int id) {
    for (int round = 1; round <= rounds; ++round) {
      progress[id] = round;
      if (!barrier.wait()) ++wrong;
      for (const int other : progress)
        if (other != round) ++wrong;
      if (!barrier.wait()) ++wrong;
    }
  });
  EXPECT_EQ(wrong, 0);
  EXPECT_FALSE(barrier.aborted());
}

TEST(Barrier, KeepsProcessesInStep) {
  struct Shared {
    Barrier barrier{2};
    std::atomic<int> value{0};
  };
  void* memory = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  auto* shared = new (memory) Shared;
  const pid_t child = fork();
  const auto take_turns = [&](int own) {
    for (int round = 0; round < 2000; ++round) {
      if (round % 2 == own) shared->value = round;
      // Now and then one is late enough for the other to sleep.
      if (round % 500 == own) std::this_thread::sleep_for(std::chrono::milliseconds(3));
      if (!shared->barrier.wait() || shared->value != round || !shared->barrier.wait()) return false;
    }
    return true;
  };
  if (child == 0) _exit(take_turns(1) ? 0 : 1);
  EXPECT_TRUE(take_turns(0));
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  munmap(memory, sizeof(Shared));
}

TEST(Barrier, AnswersWithinTheTimeThatOneLooks) {
  Barrier barrier(2);
  const std::uint32_t arrival = barrier.arrive();
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(barrier.await(arrival, std::chrono::milliseconds(30)), std::nullopt);
  EXPECT_GE(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(30));
  EXPECT_FALSE(barrier.aborted());
  barrier.arrive();
  EXPECT_EQ(barrier.await(arrival, std::chrono::milliseconds(1)), true);
}

TEST(Barrier, GivingUpReleasesEveryoneAndSaysWhy) {
  Barrier barrier(3);
  const std::uint32_t arrival = barrier.arrive();
  barrier.give_up();
  barrier.abort();
  EXPECT_EQ(barrier.await(arrival, std::chrono::milliseconds(1)), false);
  EXPECT_TRUE(barrier.late()) << "the first reason stays";
  EXPECT_FALSE(barrier.wait()) << "who comes later must not wait";
}

TEST(Barrier, KeepsThreadsInStep) { expect_rounds_in_step(2, 5000); }

TEST(Barrier, ManagesMoreThreadsThanCores) {
  expect_rounds_in_step(2 * static_cast<int>(std::thread::hardware_concurrency()) + 3, 200);
}

TEST(Barrier, OfOneNeverWaits) {
  Barrier barrier(1);
  for (int i = 0; i < 1000; ++i) EXPECT_TRUE(barrier.wait());
}

TEST(Barrier, AbortReleasesThoseWhoWait) {
  Barrier barrier(3);
  std::atomic<int> released{0};
  on_threads(3, [&](int id) {
    if (id == 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));  // the others sleep by now
      barrier.abort();
    } else if (!barrier.wait()) {
      ++released;
    }
  });
  EXPECT_EQ(released, 2);
  EXPECT_TRUE(barrier.aborted());
}

TEST(Barrier, AbortIsForGood) {
  Barrier barrier(2);
  barrier.abort();
  barrier.abort();
  for (int i = 0; i < 5; ++i) EXPECT_FALSE(barrier.wait());
}

// Whatever the moment: everyone gets out.
TEST(Barrier, AbortDuringRoundsReleasesEveryone) {
  for (int trial = 0; trial < 200; ++trial) {
    Barrier barrier(3);
    std::atomic<int> left{0};
    on_threads(4, [&](int id) {
      if (id == 3) {
        for (volatile int spin = 0; spin < trial * 50;) spin = spin + 1;
        barrier.abort();
        return;
      }
      while (barrier.wait()) {
      }
      ++left;
    });
    ASSERT_EQ(left, 3);
  }
}

}  // namespace
}  // namespace lockring
