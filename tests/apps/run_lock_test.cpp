#include "apps/run_lock.h"

#include "tests/support/temporary_directory.h"

#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <thread>

namespace lockring::app {
namespace {

TEST(RunLock, IsHeldByOneAtATime) {
  const TemporaryDirectory folder;
  std::optional<RunLock> first(std::in_place);
  EXPECT_TRUE(first->take(folder.path()));
  EXPECT_FALSE(RunLock().take(folder.path(), std::chrono::milliseconds(10)));
  first.reset();
  EXPECT_TRUE(RunLock().take(folder.path()));
}

TEST(RunLock, WaitsForOneWhoOnlyLooks) {
  const TemporaryDirectory folder;
  std::optional<RunLock> looking(std::in_place);
  ASSERT_TRUE(looking->take(folder.path()));
  std::thread leaves([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    looking.reset();
  });
  EXPECT_TRUE(RunLock().take(folder.path(), std::chrono::minutes(1)));
  leaves.join();
}

TEST(RunLock, AFolderThatIsNotThereKeepsNobodyOut) {
  const TemporaryDirectory folder;
  EXPECT_TRUE(RunLock().take(folder / "none"));
}

}  // namespace
}  // namespace lockring::app
