// Ensembles, splits and shadows as the command line names them.
#pragma once

#include "apps/serve/ensemble.h"
#include "apps/serve/split.h"

#include <string>
#include <string_view>
#include <vector>

namespace lockring::app::serve {

// "NAME=A:WEIGHT,B:WEIGHT"; a weight that is left out is 1. Throws Error{usage}.
SplitOptions parse_split(std::string_view text);
// "NAME=B:SHARE": adds the shadow to the split NAME. Throws Error{usage} if there is none.
void add_shadow(std::string_view text, std::vector<SplitOptions>& splits);
// "N", "auto" or "auto:LEAST-MOST"; auto is from one to `cores`.
struct ReplicaRange {
  int least = 1;
  int most = 1;
};
ReplicaRange parse_replicas(std::string_view text, int cores);

}  // namespace lockring::app::serve
