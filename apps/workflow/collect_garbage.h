// Taking away what workflows no longer need.
#pragma once

#include "apps/workflow/state_folder.h"

#include <cstdint>

namespace lockring::app::workflow {

struct Garbage {
  int runs = 0;
  int entries = 0;  // of the cache
  int outputs = 0;  // folders
  std::int64_t bytes = 0;
};

// Removes runs that began and cache entries that were last used before `oldest` (seconds since 1970, UTC), then the
// stored outputs that none of the others has, and what killed attempts have left. What a process is at work on stays.
// Throws Error{data}.
Garbage collect_garbage(const StateFolder& state, double oldest);

}  // namespace lockring::app::workflow
