#include "apps/http/short_turns.h"

#include <gtest/gtest.h>

#include <sched.h>
#include <sys/resource.h>

#include <thread>

namespace lockring::app::http {
namespace {

// PRIO_PROCESS is of a thread in Linux.
TEST(ShortTurns, AThreadKeepsItsPolicyAndItsNiceness) {
  std::thread([] {
    const int nice = getpriority(PRIO_PROCESS, 0) + 1;
    ASSERT_EQ(setpriority(PRIO_PROCESS, 0, nice), 0);
    take_short_turns();
    EXPECT_EQ(sched_getscheduler(0), SCHED_OTHER);
    EXPECT_EQ(getpriority(PRIO_PROCESS, 0), nice);
    ASSERT_EQ(setpriority(PRIO_PROCESS, 0, nice + 1), 0);
    const sched_param none{};
    ASSERT_EQ(sched_setscheduler(0, SCHED_BATCH, &none), 0);
    take_short_turns();
    EXPECT_EQ(sched_getscheduler(0), SCHED_BATCH) << "somebody has chosen it";
  }).join();
}

}  // namespace
}  // namespace lockring::app::http
