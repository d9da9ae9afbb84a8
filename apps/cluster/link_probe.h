// What the way between two ranks costs: messages there and back, and a stream of long ones.
#pragma once

#include "distributed/world.h"

#include <string>
#include <vector>

namespace lockring::app {

struct Link {
  int from = 0;  // ranks of the job
  int to = 0;
  double latency_seconds = 0;   // of a message of eight bytes, one way
  double bytes_per_second = 0;  // one way, while nothing comes back

  bool operator==(const Link&) const = default;
};

// The links between the first two ranks of each machine that has two, measured on all machines at once. Every rank of
// the job calls this at the same time and gets them all, by machine.
std::vector<Link> probe_nodes(dist::World& world);

// The links between the first ranks of neighbouring machines, each measured while the others rest or talk to another
// machine.
std::vector<Link> probe_network(dist::World& world);

}  // namespace lockring::app
