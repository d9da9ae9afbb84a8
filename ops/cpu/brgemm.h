// Batch-reduce GEMM, the one building block of convolution and linear on the CPU:
//
//   out[rows][cols] (+)= sum over i of left_i[rows][inner] * right_i[inner][cols]
//
// (Georganas et al., "High-Performance Deep Learning via a Single Building Block", arXiv:1906.06440.) LIBXSMM generates
// it at run time for AVX2 or AVX-512; where it does not (other processors, sanitizer builds, few narrow results),
// compiled loops take over. Each element is summed in one order, i outermost and inner within, with one rounding a
// step: all give the same bits, whatever rows, cols or the instruction set are.
#pragma once

#include <cstdint>
#include <string>

namespace lockring::kernels::cpu {

// Strides are elements from one row to the next; rows themselves are contiguous.
struct BrgemmShape {
  std::int64_t rows, cols, inner;
  std::int64_t left_stride, right_stride, out_stride;
  bool left_transposed = false;  // left_i is stored [inner][rows]
  bool accumulate = false;       // add to out instead of overwriting it
};

class Brgemm {
 public:
  // Looks the kernel up, generating it the first time (a millisecond; later tens of nanoseconds). Any thread.
  explicit Brgemm(const BrgemmShape& shape);

  // `count` pairs of addresses; `out` overlaps none of them. With count 0, out is cleared or left as it is.
  void operator()(const float* const* left, const float* const* right, float* out, std::int64_t count) const {
    const auto pairs = static_cast<unsigned long long>(count);
    if (generated_ != nullptr && count > 0) {
      generated_(right, left, out, &pairs);
    } else {
      run_compiled(left, right, out, count);
    }
  }
  // Whether LIBXSMM made it.
  bool generated() const { return generated_ != nullptr; }
  // One product.
  void operator()(const float* left, const float* right, float* out) const { (*this)(&left, &right, out, 1); }

 private:
  using Generated = void (*)(const float* const*, const float* const*, float*, const unsigned long long*);

  void run_compiled(const float* const* left, const float* const* right, float* out, std::int64_t count) const;

  BrgemmShape shape_;
  Generated generated_ = nullptr;
};

// What computes most products: "LIBXSMM" or "compiled loops".
std::string brgemm_backend();

}  // namespace lockring::kernels::cpu
