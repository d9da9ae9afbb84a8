#include "core/shape.h"

#include "core/error.h"

#include <fmt/format.h>

#include <algorithm>

namespace lockring {

Shape::Shape(std::span<const std::int64_t> sizes) {
  check(sizes.size() <= kMaxRank, "a shape has at most {} dimensions, not {}", kMaxRank, sizes.size());
  for (const std::int64_t size : sizes) {
    check(size >= 0, "a dimension cannot be negative: {}", size);
    check(!__builtin_mul_overflow(elements_, size, &elements_), "a tensor of so many elements cannot be counted");
    sizes_[rank_++] = size;
  }
}

Shape Shape::with_leading(std::int64_t size) const {
  assert(rank_ > 0);
  std::array<std::int64_t, kMaxRank> sizes = sizes_;
  sizes[0] = size;
  return Shape(std::span<const std::int64_t>(sizes.data(), rank_));
}

bool Shape::operator==(const Shape& other) const { return std::equal(begin(), end(), other.begin(), other.end()); }

std::string to_string(const Shape& shape) {
  std::string text = "[";
  for (const std::int64_t size : shape) text += (text.size() > 1 ? ", " : "") + std::to_string(size);
  return text + "]";
}

}  // namespace lockring

fmt::format_context::iterator fmt::formatter<lockring::Shape>::format(const lockring::Shape& shape,
                                                                      fmt::format_context& context) const {
  return fmt::formatter<fmt::string_view>::format(to_string(shape), context);
}
