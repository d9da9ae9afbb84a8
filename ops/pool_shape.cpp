#include "ops/pool_shape.h"

#include "core/error.h"

namespace lockring {

PoolShape pool_shape(const char* op, const Shape& x, std::int64_t kernel, std::int64_t stride) {
  check(x.rank() == 4, "{}: x is [n, height, width, channels], not {}", op, x);
  check(kernel > 0 && stride > 0, "{}: kernel {} and stride {} must be positive", op, kernel, stride);
  check(kernel <= x[1] && kernel <= x[2], "{}: a window of {} x {} does not fit into {}", op, kernel, kernel, x);
  return {.n = x[0],
          .height = x[1],
          .width = x[2],
          .channels = x[3],
          .kernel = kernel,
          .stride = stride,
          .out_height = (x[1] - kernel) / stride + 1,
          .out_width = (x[2] - kernel) / stride + 1};
}

}  // namespace lockring
