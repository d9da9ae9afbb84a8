#include "ops/cpu/brgemm.h"

#include "ops/cpu/generated_brgemm.h"
#include "ops/cpu/product_kernel.h"

#include <algorithm>

namespace lockring::kernels::cpu {
namespace {

constexpr Kernel<AddProductFn> kAddProduct{"brgemm", LOCKRING_SIMD_KERNELS(add_product), nullptr};

}  // namespace

Brgemm::Brgemm(const BrgemmShape& shape) : shape_(shape), generated_(generate_brgemm(shape)) {}

void Brgemm::run_compiled(const float* const* left, const float* const* right, float* out, std::int64_t count) const {
  if (!shape_.accumulate)
    for (std::int64_t row = 0; row < shape_.rows; ++row) std::fill_n(out + row * shape_.out_stride, shape_.cols, 0.0F);
  for (std::int64_t i = 0; i < count; ++i) kAddProduct.on()(shape_, left[i], right[i], out);
}

std::string brgemm_backend() {
  const Brgemm probe({.rows = 32, .cols = 32, .inner = 8, .left_stride = 8, .right_stride = 32, .out_stride = 32});
  return probe.generated() ? "LIBXSMM" : "compiled loops";
}

}  // namespace lockring::kernels::cpu
