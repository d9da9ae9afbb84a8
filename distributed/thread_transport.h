// Ranks that are threads of one process, passing messages through memory: for tests, and to see an algorithm without
// MPI.
#pragma once

#include "distributed/transport.h"

#include <memory>
#include <vector>

namespace lockring::dist {

// The transports of `size` ranks of one group, each for a thread of its own.
std::vector<std::unique_ptr<Transport>> thread_transports(int size);

}  // namespace lockring::dist
