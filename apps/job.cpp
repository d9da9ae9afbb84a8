#include "apps/job.h"

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

void leave_job() { current().reset(); }

}  // namespace lockring::app
