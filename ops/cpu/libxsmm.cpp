#include "ops/cpu/generated_brgemm.h"

#include <libxsmm.h>

#include <algorithm>
#include <limits>

namespace lockring::kernels::cpu {
namespace {

// The sanitizers do not see what generated code does.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kGenerate = false;
#else
constexpr bool kGenerate = true;
#endif

// The AVX-512 code takes 64 columns at a time, and where one register of them is left it splits the sum over several
// accumulators, which changes the bits; if there is nothing else, then only for few rows.
bool sums_in_order(const BrgemmShape& shape) {
  const std::int64_t left = (shape.cols - 1) % 64 + 1;
  return left > 16 || (shape.cols <= 16 && shape.rows > 12);
}

bool sizes_are_ints(const BrgemmShape& s) {
  return std::max({s.rows, s.cols, s.inner, s.left_stride, s.right_stride, s.out_stride}) <=
         std::numeric_limits<int>::max();
}

}  // namespace

GeneratedBrgemm generate_brgemm(const BrgemmShape& shape) {
  if (!kGenerate || !sizes_are_ints(shape) || !sums_in_order(shape)) return nullptr;
  const auto lda = static_cast<int>(shape.right_stride);
  const auto ldb = static_cast<int>(shape.left_stride);
  const auto ldc = static_cast<int>(shape.out_stride);
  const float alpha = 1;
  const float beta = shape.accumulate ? 1 : 0;
  const int flags = shape.left_transposed ? LIBXSMM_GEMM_FLAG_TRANS_B : LIBXSMM_GEMM_FLAG_NONE;
  const int prefetch = LIBXSMM_GEMM_PREFETCH_NONE;
  const auto kernel = libxsmm_smmdispatch_reducebatch_addr(static_cast<int>(shape.cols), static_cast<int>(shape.rows),
                                                           static_cast<int>(shape.inner), &lda, &ldb, &ldc, &alpha,
                                                           &beta, &flags, &prefetch);
  return reinterpret_cast<GeneratedBrgemm>(kernel);
}

std::string libxsmm_version() { return LIBXSMM_CONFIG_VERSION; }

}  // namespace lockring::kernels::cpu
