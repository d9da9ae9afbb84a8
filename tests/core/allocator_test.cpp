#include "core/allocator.h"

#include "core/rng.h"
#include "tests/support/errors.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <limits>
#include <thread>
#include <vector>

namespace lockring {
namespace {

#ifdef __SANITIZE_ADDRESS__
constexpr bool kBlocksAreKept = false;
#else
constexpr bool kBlocksAreKept = true;
#endif

struct Block {
  std::int64_t bytes;
  void* memory = allocate(bytes);

  void fill(int value) const { std::memset(memory, value, bytes); }
  bool holds(int value) const {
    const auto* begin = static_cast<const unsigned char*>(memory);
    for (std::int64_t i = 0; i < bytes; ++i)
      if (begin[i] != value) return false;
    return true;
  }
  void free() const { deallocate(memory, bytes); }
};

TEST(Allocator, BlocksAreAlignedAndDisjoint) {
  Rng rng(1, RngStream::test);
  std::vector<Block> blocks;
  for (int i = 0; i < 250; ++i) {
    const int magnitude = static_cast<int>(rng.below(18));
    blocks.push_back({static_cast<std::int64_t>(rng.below(std::uint64_t{2} << magnitude))});
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(blocks.back().memory) % 64, 0);
    blocks.back().fill(i);
  }
  for (int i = 0; i < 250; ++i) {
    EXPECT_TRUE(blocks[i].holds(i)) << "a block of " << blocks[i].bytes << " bytes was overwritten";
    blocks[i].free();
  }
}

TEST(Allocator, AQuarterOfABlockIsWasteAtMost) {
  std::vector<Block> blocks;
  for (std::int64_t bytes = 1; bytes < (std::int64_t{3} << 20); bytes += 1 + bytes / 7) {
    const AllocatorStats before = allocator_stats();
    blocks.push_back({bytes});
    const AllocatorStats after = allocator_stats();
    const std::int64_t given = after.system_bytes - before.system_bytes;
    if (after.system_allocations == before.system_allocations) continue;  // an earlier test's block
    EXPECT_GE(given, bytes);
    EXPECT_LE(given, bytes + bytes / 4 + 64) << bytes;
  }
  for (const Block& block : blocks) block.free();
}

TEST(Allocator, SizesAtTheEdgesOfClassesFit) {
  for (int exponent = 6; exponent < 22; ++exponent) {
    for (const int eighths : {8, 10, 12, 14}) {
      for (const int offset : {-1, 0, 1}) {
        const Block block{(std::int64_t{1} << exponent) / 8 * eighths + offset};
        block.fill(0x5a);  // the address sanitizer would see an overflow
        EXPECT_TRUE(block.holds(0x5a));
        block.free();
      }
    }
  }
}

TEST(Allocator, AFreedBlockServesItsClassAgain) {
  if (!kBlocksAreKept) GTEST_SKIP() << "the address sanitizer sees every block";
  const Block first{1000};
  first.free();
  const Block second{1024};
  EXPECT_EQ(first.memory, second.memory);
  const Block third{1000};
  EXPECT_NE(second.memory, third.memory);
  second.free();
  third.free();
}

TEST(Allocator, NothingAndNoBytesAreFine) {
  const Block block{0};
  EXPECT_NE(block.memory, nullptr);
  block.free();
  deallocate(nullptr, 0);
  deallocate(nullptr, 100);
}

TEST(Allocator, TooMuchIsAnErrorAndLeavesTheRestUsable) {
  for (const std::int64_t bytes :
       {std::int64_t{1} << 46, std::int64_t{1} << 50, std::numeric_limits<std::int64_t>::max()})
    expect_error(ErrorCode::device, std::to_string(bytes), [&] { allocate(bytes); });
  const Block block{100};
  block.fill(1);
  block.free();
}

long page_faults() {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_minflt;
}

// What a step does: blocks of many sizes, alive together, freed in another order.
void one_step() {
  std::vector<Block> blocks;
  for (const std::int64_t bytes : {64, 100, 4000, 70'000, 1'000'000, 3'000'000, 3'000'000, 9'000'000}) {
    blocks.push_back({bytes});
    blocks.back().fill(3);
  }
  for (const std::size_t i : {3, 1, 7, 0, 2, 5, 4, 6}) blocks[i].free();
}

TEST(Allocator, ASteadyStepAsksNothingOfTheSystem) {
  if (!kBlocksAreKept) GTEST_SKIP() << "the address sanitizer sees every block";
  one_step();
  const AllocatorStats before = allocator_stats();
  long fewest_faults = std::numeric_limits<long>::max();  // the kernel may disturb one step, not all
  for (int step = 0; step < 5; ++step) {
    const long faults_before = page_faults();
    one_step();
    fewest_faults = std::min(fewest_faults, page_faults() - faults_before);
  }
  EXPECT_EQ(allocator_stats().system_allocations, before.system_allocations);
  EXPECT_EQ(allocator_stats().system_bytes, before.system_bytes);
  EXPECT_EQ(fewest_faults, 0);
}

TEST(AllocatorThreads, AnEndedThreadLeavesItsBlocksToOthers) {
  if (!kBlocksAreKept) GTEST_SKIP() << "the address sanitizer sees every block";
  std::thread(one_step).join();
  const AllocatorStats before = allocator_stats();
  std::thread(one_step).join();
  EXPECT_EQ(allocator_stats().system_allocations, before.system_allocations);
}

TEST(AllocatorThreads, WhatOneThreadFreesReachesTheThreadThatAllocates) {
  if (!kBlocksAreKept) GTEST_SKIP() << "the address sanitizer sees every block";
  constexpr int kBlocks = 200;
  constexpr int kRounds = 20;
  constexpr std::int64_t kBytes = 333'000;
  const AllocatorStats before = allocator_stats();
  std::atomic<int> turn{0};
  std::vector<void*> blocks(kBlocks);
  std::thread consumer([&] {
    for (int round = 0; round < kRounds; ++round) {
      turn.wait(2 * round);
      for (void* block : blocks) deallocate(block, kBytes);
      turn = 2 * round + 2;
      turn.notify_one();
    }
  });
  for (int round = 0; round < kRounds; ++round) {
    for (void*& block : blocks) block = allocate(kBytes);
    turn = 2 * round + 1;
    turn.notify_one();
    turn.wait(2 * round + 1);
  }
  consumer.join();
  // All blocks of a round, and those that the consumer keeps for itself.
  EXPECT_LE(allocator_stats().system_allocations - before.system_allocations, kBlocks + 64);
}

TEST(AllocatorThreads, ManyThreadsAtOnceGetBlocksOfTheirOwn) {
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int id = 0; id < 4; ++id)
    threads.emplace_back([id, &wrong] {
      Rng rng(2, RngStream::test, id);
      std::vector<Block> held;
      for (int i = 0; i < 2000; ++i) {
        held.push_back({static_cast<std::int64_t>(rng.below(3000))});
        held.back().fill(id);
        if (held.size() < 100) continue;
        std::swap(held[rng.below(held.size())], held.back());
        if (!held.back().holds(id)) ++wrong;
        held.back().free();
        held.pop_back();
      }
      for (const Block& block : held) block.free();
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

// Frees its block when its thread ends. One that is made before the thread's first allocation is destroyed after
// whatever the allocator keeps for the thread.
struct FreedLate {
  void* block = nullptr;
  ~FreedLate() { deallocate(block, kBytes); }
  static constexpr std::int64_t kBytes = 40'000'000;  // a class that no other test uses
};

TEST(AllocatorThreads, ABlockFreedAtTheVeryEndOfAThreadIsNotLost) {
  if (!kBlocksAreKept) GTEST_SKIP() << "the address sanitizer sees every block";
  void* freed = nullptr;
  std::thread([&freed] {
    thread_local FreedLate late;
    late.block = nullptr;  // constructs it
    late.block = freed = allocate(FreedLate::kBytes);
  }).join();
  void* block = allocate(FreedLate::kBytes);
  EXPECT_EQ(block, freed);
  deallocate(block, FreedLate::kBytes);
}

}  // namespace
}  // namespace lockring
