#include "apps/train/gradient_segments.h"

namespace lockring::app {

std::vector<dist::Slice> gradient_segments(const nn::ArenaLayout& layout) {
  const std::vector<nn::Segment>& segments = layout.segments();
  std::vector<dist::Slice> slices;
  for (std::size_t i = 0; i < segments.size(); ++i)
    slices.push_back({segments[i].offset, i + 1 < segments.size() ? segments[i + 1].offset : layout.elements()});
  return slices;
}

}  // namespace lockring::app
