// The sizes of a tensor, outermost first. A value of fixed size, so that shapes never allocate.
#pragma once

#include <fmt/core.h>

#include <array>
#include <cassert>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

namespace lockring {

class Shape {
 public:
  static constexpr int kMaxRank = 6;

  Shape() = default;
  // Throws Error{usage} on a negative size, more than kMaxRank sizes, or a product beyond int64.
  Shape(std::initializer_list<std::int64_t> sizes) : Shape(std::span(sizes.begin(), sizes.size())) {}
  explicit Shape(std::span<const std::int64_t> sizes);

  int rank() const { return rank_; }
  // Number of elements; 1 for rank 0.
  std::int64_t elements() const { return elements_; }
  // Size of dimension `i`; a negative `i` counts from the end.
  std::int64_t operator[](int i) const {
    if (i < 0) i += rank_;
    assert(i >= 0 && i < rank_);
    return sizes_[i];
  }
  const std::int64_t* begin() const { return sizes_.data(); }
  const std::int64_t* end() const { return sizes_.data() + rank_; }

  // The same shape with another leading size.
  Shape with_leading(std::int64_t size) const;

  bool operator==(const Shape& other) const;

 private:
  std::array<std::int64_t, kMaxRank> sizes_{};
  std::int64_t elements_ = 1;
  int rank_ = 0;
};

// "[2, 28, 28, 1]"
std::string to_string(const Shape& shape);

}  // namespace lockring

// check(..., "{}", shape) makes the text only when it fails: a steady step formats nothing.
template <>
struct fmt::formatter<lockring::Shape> : fmt::formatter<fmt::string_view> {
  fmt::format_context::iterator format(const lockring::Shape& shape, fmt::format_context& context) const;
};
