#pragma once

#include "distributed/slice.h"
#include "nn/arena.h"

#include <vector>

namespace lockring::app {

// The tensors of an arena with their padding, in order and without gaps: what buckets are cut from.
std::vector<dist::Slice> gradient_segments(const nn::ArenaLayout& layout);

}  // namespace lockring::app
