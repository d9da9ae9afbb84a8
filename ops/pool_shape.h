// The sizes of a pooling over images, NHWC, without padding: windows that do not fit whole are left out.
#pragma once

#include "core/shape.h"

#include <cstdint>

namespace lockring {

struct PoolShape {
  std::int64_t n, height, width, channels;
  std::int64_t kernel, stride;
  std::int64_t out_height, out_width;

  Shape input() const { return {n, height, width, channels}; }
  Shape output() const { return {n, out_height, out_width, channels}; }
};

// Throws Error{usage} naming `op` unless x is [n][h][w][c] and a window of kernel x kernel fits into it.
PoolShape pool_shape(const char* op, const Shape& x, std::int64_t kernel, std::int64_t stride);

}  // namespace lockring
