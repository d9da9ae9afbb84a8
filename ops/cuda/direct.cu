#include "ops/cuda/direct.h"

#include "core/notes.h"
#include "ops/cuda/direct_functor.h"
#include "ops/cuda/sums.h"

#include <fmt/core.h>

namespace lockring::kernels::cuda {

using lockring::cuda::for_each_index;

void direct_convolution(const ConvShape& s, const float* x, const float* w, float* y) {
  for_each_index(s.n * s.oh * s.ow * s.out, DirectConvolution{s, x, w, y});
}

void direct_input_gradient(const ConvShape& s, const float* dy, const float* w, float* dx) {
  for_each_index(s.n * s.h * s.w * s.in, DirectInputGradient{s, dy, w, dx});
}

void direct_weight_gradient(const ConvShape& s, const float* x, const float* dy, bool accumulate, float* dw) {
  column_sums(s.n * s.oh * s.ow, s.out * s.patch(), WeightGradientTerm{s, x, dy}, StoreSums{dw, accumulate});
}

void direct_product(const ProductShape& s, const float* a, const float* b, const float* bias, float* d) {
  for_each_index(s.m * s.n, DirectProduct{s, a, b, bias, d});
}

void say_direct(const ConvShape& s, const std::string& why) {
  say_once(fmt::format("a slow kernel convolves {} x {} x {} x {} to {} channels, since {}", s.n, s.h, s.w, s.in, s.out,
                       why));
}

void say_direct(const ProductShape& s, const std::string& why) {
  say_once(fmt::format("a slow kernel multiplies {} x {} x {}, since {}", s.m, s.k, s.n, why));
}

}  // namespace lockring::kernels::cuda
