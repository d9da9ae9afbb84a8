// Where the images of a split are to lie, which follows from their sizes, the front and the memory.
#pragma once

#include "core/shape.h"
#include "data/cache_file.h"
#include "data/front.h"
#include "data/manifest.h"

#include <cstdint>
#include <string>

namespace lockring::data {

struct SplitPlan {
  CacheKey key;  // of the images after the front
  Shape image;   // [h, w, c], after the front
  std::int64_t images = 0;
  std::int64_t bytes = 0;  // of all of them, after the front
  bool changed = false;    // by the front; else they are used as they are stored
  bool in_memory = false;  // they fit
  // They come from the disk cache, be it only on their way into memory: pixels are quickly changed, but files take long
  // to decode.
  bool from_cache = false;
};

// `split` is "train" or "test". What the split takes of the memory is taken off `memory_left`. Throws Error{usage} if
// the front leaves images of many sizes.
SplitPlan plan_split(const Manifest& manifest, const std::string& split, const Front& front, std::int64_t& memory_left);

}  // namespace lockring::data
