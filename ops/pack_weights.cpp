#include "ops/pack_weights.h"

#include "core/error.h"
#include "ops/transpose_kernel.h"

namespace lockring::ops {

void pack_weights(const Tensor& weight, Tensor& packed) {
  check(weight.rank() >= 2, "weights have at least two dimensions, not shape {}", weight.shape());
  if (weight.device().kind != DeviceKind::cpu) return;
  if (!packed.defined()) packed = Tensor::empty({weight.elements() / weight.size(0), weight.size(0)});
  check(packed.elements() == weight.elements(), "packed weights of shape {} do not fit weights of shape {}",
        packed.shape(), weight.shape());
  const std::int64_t columns = weight.elements() / weight.size(0);
  kTranspose.on()(weight.data(), weight.size(0), columns, packed.data());
}

}  // namespace lockring::ops
