#include "ops/reshape.h"

#include "core/autograd.h"
#include "core/error.h"

namespace lockring::ops {

Tensor reshape(const Tensor& x, const Shape& shape) {
  Tensor y = x.view(shape);

  if (needs_gradient(x))
    record(y, {&x}, [from = x.shape()](const Tensor& dy, GradTargets to) { to[0].add(dy.view(from)); });
  return y;
}

Tensor flatten(const Tensor& x) {
  check(x.rank() > 0, "flatten: a tensor of rank 0 has no leading dimension");
  std::int64_t rest = 1;
  for (int i = 1; i < x.rank(); ++i) rest *= x.size(i);
  return reshape(x, {x.size(0), rest});
}

}  // namespace lockring::ops
