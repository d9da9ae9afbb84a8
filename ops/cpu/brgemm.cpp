#include "ops/cpu/brgemm.h"

#include <libxsmm.h>

#include <Eigen/Core>
#include <cmath>
#include <string>

namespace lockring::kernels::cpu {
namespace {

// The sanitizers do not see what generated code does; there the Eigen form runs.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kGenerate = false;
#else
constexpr bool kGenerate = true;
#endif

using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Stride = Eigen::OuterStride<>;
using In = Eigen::Map<const Matrix, 0, Stride>;
using Out = Eigen::Map<Matrix, 0, Stride>;

void add_product(Out& out, const BrgemmShape& s, const float* left, const float* right) {
  const In r(right, s.inner, s.cols, Stride(s.right_stride));
  if (s.left_transposed) {
    out.noalias() += In(left, s.inner, s.rows, Stride(s.left_stride)).transpose() * r;
  } else {
    out.noalias() += In(left, s.rows, s.inner, Stride(s.left_stride)) * r;
  }
}

// LIBXSMM's AVX-512 code splits the sum over several accumulators when the result is one register wide and few rows
// high, which changes the bits; these products are small, so a plain loop does them.
constexpr std::int64_t kNarrowCols = 16;
constexpr std::int64_t kNarrowRows = 12;

void add_narrow_product(const BrgemmShape& s, const float* left, const float* right, float* out) {
  const std::int64_t row_step = s.left_transposed ? 1 : s.left_stride;
  const std::int64_t inner_step = s.left_transposed ? s.left_stride : 1;
  for (std::int64_t row = 0; row < s.rows; ++row) {
    float sums[kNarrowCols];
    for (std::int64_t col = 0; col < s.cols; ++col) sums[col] = out[row * s.out_stride + col];
    for (std::int64_t k = 0; k < s.inner; ++k) {
      const float factor = left[row * row_step + k * inner_step];
      for (std::int64_t col = 0; col < s.cols; ++col)
        sums[col] = std::fma(factor, right[k * s.right_stride + col], sums[col]);
    }
    for (std::int64_t col = 0; col < s.cols; ++col) out[row * s.out_stride + col] = sums[col];
  }
}

}  // namespace

Brgemm::Brgemm(const BrgemmShape& shape) : shape_(shape) {
  if (!kGenerate) return;
  narrow_ = shape.cols <= kNarrowCols && shape.rows <= kNarrowRows;
  if (narrow_) return;
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
  generated_ = reinterpret_cast<Generated>(kernel);
}

void Brgemm::run_compiled(const float* const* left, const float* const* right, float* out, std::int64_t count) const {
  Out result(out, shape_.rows, shape_.cols, Stride(shape_.out_stride));
  if (!shape_.accumulate) result.setZero();
  for (std::int64_t i = 0; i < count; ++i) {
    if (narrow_) {
      add_narrow_product(shape_, left[i], right[i], out);
    } else {
      add_product(result, shape_, left[i], right[i]);
    }
  }
}

const char* brgemm_backend() {
  static const std::string name = [] {
    const Brgemm probe({.rows = 32, .cols = 32, .inner = 8, .left_stride = 8, .right_stride = 32, .out_stride = 32});
    return probe.generated() ? std::string("LIBXSMM ") + libxsmm_get_target_arch() : std::string("Eigen");
  }();
  return name.c_str();
}

}  // namespace lockring::kernels::cpu
