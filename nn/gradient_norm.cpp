#include "nn/gradient_norm.h"

#include "ops/gradient_sums_kernel.h"

#include <algorithm>
#include <cassert>
#include <utility>
#include <vector>

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

// Neighbouring segments whose squares count, with their padding.
std::vector<std::pair<std::int64_t, std::int64_t>> counted_ranges(const ArenaLayout& layout) {
  std::vector<std::pair<std::int64_t, std::int64_t>> ranges;
  const std::vector<Segment>& segments = layout.segments();
  for (std::size_t i = 0; i < segments.size(); ++i) {
    if (segments[i].kind == ParameterKind::statistic) continue;
    const std::int64_t end = layout.padded_end(i);
    if (ranges.empty() || ranges.back().second != segments[i].offset) ranges.emplace_back(segments[i].offset, end);
    ranges.back().second = end;
  }
  return ranges;
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

std::int64_t square_sum_parts(const ArenaLayout& layout) { return std::ssize(counted_ranges(layout)); }

void square_sums_on_gpu(const Arena& gradient, double* parts) {
  const float* start = gradient.buffer().data();
  for (const auto& [begin, end] : counted_ranges(gradient.layout()))
    kSquareSum.on(gradient.buffer().device())(start + begin, end - begin, parts++);
}

}  // namespace lockring::nn
