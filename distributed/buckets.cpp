#include "distributed/buckets.h"

#include "core/error.h"

#include <algorithm>
#include <limits>
#include <ranges>

namespace lockring::dist {

std::vector<Slice> cut_buckets(std::span<const Slice> segments, std::int64_t bucket_bytes) {
  check(bucket_bytes >= 0, "buckets of {} bytes are not possible", bucket_bytes);
  if (segments.empty()) return {};
  const std::int64_t least = segments.back().end * 4 / kMostBuckets + 1;
  const std::int64_t bytes =
      bucket_bytes == 0 ? std::numeric_limits<std::int64_t>::max() : std::max(bucket_bytes, least);
  std::vector<Slice> buckets;
  std::int64_t end = segments.back().end;
  for (const Slice& segment : std::views::reverse(segments)) {
    if (segment.begin > segments.front().begin && (end - segment.begin) * 4 < bytes) continue;
    buckets.push_back({segment.begin, end});
    end = segment.begin;
  }
  return buckets;
}

std::size_t bucket_at(std::span<const Slice> buckets, std::int64_t offset) {
  const auto holds = [offset](const Slice& bucket) { return bucket.begin <= offset; };
  return static_cast<std::size_t>(std::ranges::find_if(buckets, holds) - buckets.begin());
}

}  // namespace lockring::dist
