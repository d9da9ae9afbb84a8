#include "apps/job.h"

#include "core/cpu.h"
#include "distributed/parameter_server.h"

#include <sched.h>

#include <algorithm>
#include <vector>

namespace lockring::app {
namespace {

struct Job {
  std::unique_ptr<dist::World> whole;
  std::unique_ptr<dist::World> part;  // null: all of it
  int cores = 0;                      // of this rank, once known
};

Job& current() {
  static Job job;
  return job;
}

}  // namespace

dist::World& whole_job() {
  if (!current().whole) current().whole = dist::open_world();
  return *current().whole;
}

dist::World& job() { return current().part ? *current().part : whole_job(); }

void join_workers(int count) { current().part = dist::world_of_workers(whole_job(), count); }

bool in_job() { return current().whole && current().whole->size() > 1; }

int cores_of_rank() {
  if (!in_job()) return usable_cores();
  if (current().cores > 0) return current().cores;
  cpu_set_t mask;
  CPU_ZERO(&mask);
  sched_getaffinity(0, sizeof(mask), &mask);
  dist::Communicator& node = whole_job().node();
  const std::vector<std::string> masks = node.all_gather({reinterpret_cast<const char*>(&mask), sizeof(mask)});
  const auto sharing = std::ranges::count(masks, masks[node.rank()]);
  current().cores = std::max(usable_cores() / static_cast<int>(sharing), 1);
  return current().cores;
}

DeviceChoice devices_of_rank(const std::string& text) {
  return choose_devices(text, job().node().rank(), job().node().size());
}

void leave_job() {
  current().part.reset();
  current().whole.reset();
  current().cores = 0;
}

}  // namespace lockring::app
