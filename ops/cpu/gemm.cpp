#include "ops/cpu/gemm.h"

#include <algorithm>
#include <array>

namespace lockring::kernels::cpu {
namespace {

constexpr std::int64_t kRowBlock = 64;
constexpr std::int64_t kInnerBlock = 64;
constexpr std::int64_t kMaxPairs = 64;

// Column blocks of 64 keep LIBXSMM's tile square; 112 fits seven registers into 784 without a rest.
std::int64_t column_block(std::int64_t cols) { return cols % 64 != 0 && cols % 112 == 0 ? 112 : 64; }

// One block of the result over the whole inner dimension, a batch of inner blocks at a time.
void block_product(BrgemmShape block, std::int64_t inner, const float* left, const float* right, float* out) {
  const std::int64_t left_step = block.left_transposed ? block.left_stride : 1;
  std::array<const float*, kMaxPairs> lefts;
  std::array<const float*, kMaxPairs> rights;
  if (inner == 0 && !block.accumulate)  // a sum of nothing
    for (std::int64_t row = 0; row < block.rows; ++row) std::fill_n(out + row * block.out_stride, block.cols, 0.0F);
  std::int64_t done = 0;
  while (done < inner) {
    block.inner = std::min(kInnerBlock, inner - done);
    const std::int64_t pairs = std::min((inner - done) / block.inner, kMaxPairs);
    for (std::int64_t i = 0; i < pairs; ++i, done += block.inner) {
      lefts[i] = left + done * left_step;
      rights[i] = right + done * block.right_stride;
    }
    const Brgemm product(block);
    product(lefts.data(), rights.data(), out, pairs);
    block.accumulate = true;
  }
}

}  // namespace

void gemm(const BrgemmShape& shape, const float* left, const float* right, float* out) {
  const std::int64_t left_step = shape.left_transposed ? 1 : shape.left_stride;
  const std::int64_t column_step = column_block(shape.cols);
  for (std::int64_t row = 0; row < shape.rows; row += kRowBlock) {
    for (std::int64_t col = 0; col < shape.cols; col += column_step) {
      BrgemmShape block = shape;
      block.rows = std::min(kRowBlock, shape.rows - row);
      block.cols = std::min(column_step, shape.cols - col);
      block_product(block, shape.inner, left + row * left_step, right + col, out + row * shape.out_stride + col);
    }
  }
}

}  // namespace lockring::kernels::cpu
