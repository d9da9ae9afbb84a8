#include "nn/gradient_norm.h"

#include "ops/gradient_sums_kernel.h"

#include <algorithm>
#include <cassert>

namespace lockring::nn {
namespace {

// The padding counts as well: it is zero.
double square_sum_of_block(const ArenaLayout& layout, const float* gradient, std::int64_t begin, std::int64_t end) {
  const std::vector<Segment>& segments = layout.segments();
  // The last segment that begins at or before `begin`.
  auto segment = std::ranges::upper_bound(segments, begin, {}, &Segment::offset) - 1;
  double sum = 0;
  for (; segment != segments.end() && segment->offset < end; ++segment) {
    if (segment->kind == ParameterKind::statistic) continue;
    const auto next = segment + 1;
    const std::int64_t first = std::max(begin, segment->offset);
    const std::int64_t last = next == segments.end() ? end : std::min(end, next->offset);
    double part;
    kSquareSum.on()(gradient + first, last - first, &part);
    sum += part;
  }
  return sum;
}

}  // namespace

double square_sum(const ArenaLayout& layout, const float* gradient, std::int64_t begin, std::int64_t end,
                  std::span<double> blocks) {
  assert(begin % kSquareSumBlock == 0 && end <= layout.elements());
  double total = 0;
  for (std::int64_t b = begin; b < end; b += kSquareSumBlock) {
    const double sum = square_sum_of_block(layout, gradient, b, std::min(b + kSquareSumBlock, end));
    if (!blocks.empty()) blocks[static_cast<std::size_t>(b / kSquareSumBlock)] = sum;
    total += sum;
  }
  return total;
}

}  // namespace lockring::nn
