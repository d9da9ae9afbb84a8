#include "apps/job.h"

#include "core/cpu.h"

#include <sched.h>

#include <algorithm>
#include <vector>

namespace lockring::app {
namespace {

std::unique_ptr<dist::World>& current() {
  static std::unique_ptr<dist::World> world;
  return world;
}

}  // namespace

dist::World& job() {
  if (!current()) current() = dist::open_world();
  return *current();
}

bool in_job() { return current() && current()->size() > 1; }

int cores_of_rank() {
  if (!in_job()) return usable_cores();
  cpu_set_t mask;
  CPU_ZERO(&mask);
  sched_getaffinity(0, sizeof(mask), &mask);
  const std::vector<std::string> masks = job().node().all_gather({reinterpret_cast<const char*>(&mask), sizeof(mask)});
  const auto sharing = std::ranges::count(masks, masks[job().node().rank()]);
  return std::max(usable_cores() / static_cast<int>(sharing), 1);
}

void leave_job() { current().reset(); }

}  // namespace lockring::app
