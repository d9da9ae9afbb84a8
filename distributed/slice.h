// Ranges of elements: of a gradient arena, or of any vector that ranks add up.
#pragma once

#include <algorithm>
#include <cstdint>

namespace lockring::dist {

// Elements [begin, end).
struct Slice {
  std::int64_t begin = 0;
  std::int64_t end = 0;

  std::int64_t size() const { return end - begin; }
  bool overlaps(const Slice& other) const { return begin < other.end && other.begin < end; }
  bool operator==(const Slice&) const = default;
};

// The slice that one of several replicas owns: multiples of `granularity` but for the last, as even as that allows.
inline Slice slice_of(std::int64_t elements, std::int64_t granularity, int replicas, int replica) {
  const std::int64_t blocks = (elements + granularity - 1) / granularity;
  const auto at = [&](std::int64_t i) { return std::min(blocks * i / replicas * granularity, elements); };
  return {at(replica), at(replica + 1)};
}

}  // namespace lockring::dist
