#include "apps/train/gradient_segments.h"

namespace lockring::app {

std::vector<dist::Slice> gradient_segments(const nn::ArenaLayout& layout) {
  std::vector<dist::Slice> slices;
  for (std::size_t i = 0; i < layout.segments().size(); ++i)
    slices.push_back({layout.segments()[i].offset, layout.padded_end(i)});
  return slices;
}

}  // namespace lockring::app
