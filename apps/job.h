// The job that this process is a part of: all ranks that mpirun started, or this process alone.
#pragma once

#include "apps/device_option.h"
#include "distributed/world.h"

#include <string>

namespace lockring::app {

// Joins the job when a command first asks; until then a process is on its own. For the main thread.
dist::World& job();
// All ranks that mpirun started, of which job() may be a part.
dist::World& whole_job();
// From now on job() is the first `count` ranks only, each a machine of its own; for those ranks.
void join_workers(int count);
// Whether this process has joined a job of several, in which an error must end the others too.
bool in_job();
// Cores for this process: those that it may use, shared among the ranks that may use the same ones.
int cores_of_rank();
// Devices for this process, as choose_devices() has them for a rank among those of its machine.
DeviceChoice devices_of_rank(const std::string& text);
// Takes leave of the others, once all have come this far. No-op for a process that has not joined.
void leave_job();

}  // namespace lockring::app
