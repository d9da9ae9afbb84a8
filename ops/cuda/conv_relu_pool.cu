#include "ops/conv_relu_pool_kernel.h"
#include "ops/cuda/conv_relu_pool_functor.h"
#include "ops/cuda/convolution.h"
#include "ops/cuda/sums.h"

namespace lockring::kernels::cuda {
namespace {

using lockring::cuda::for_each_index;
using lockring::cuda::Scratch;

// The shape of the whole convolution, of which `shape` is the even part.
ConvShape whole(const ConvShape& shape) {
  ConvShape s = shape;
  s.oh = s.h + 2 * s.padding - s.kh + 1;
  s.ow = s.w + 2 * s.padding - s.kw + 1;
  return s;
}

std::int64_t result_size(const ConvShape& s) { return s.n * s.oh * s.ow * s.out; }
std::int64_t result_bytes(const ConvShape& s) { return result_size(s) * static_cast<std::int64_t>(sizeof(float)); }

}  // namespace

void conv_relu_pool_forward(const ConvShape& shape, const float* x, const float* w, const float* /*packed*/,
                            const float* bias, float* y, std::uint8_t* source) {
  const ConvShape s = whole(shape);
  const Scratch z(result_bytes(s));
  convolve(s, x, w, z.data<float>());
  for_each_index(result_size(shape) / 4,
                 BiasReluPool{PooledShape{s.oh, s.ow, s.out}, z.data<float>(), bias, y, source});
}

void conv_relu_pool_backward(const ConvShape& shape, const float* x, const float* w, const float* dy,
                             const std::uint8_t* source, const ConvReluPoolGradients& to) {
  if (to.db != nullptr)
    column_sums(shape.n * (shape.oh / 2) * (shape.ow / 2), shape.out, SourcedValue{dy, source, shape.out},
                StoreSums{to.db, to.accumulate_b});
  if (to.dx == nullptr && to.dw == nullptr) return;
  const ConvShape s = whole(shape);
  const Scratch dz(result_bytes(s));
  for_each_index(result_size(s), Unpool{PooledShape{s.oh, s.ow, s.out}, dy, source, dz.data<float>()});
  if (to.dx != nullptr) convolve_input_gradient(s, dz.data<float>(), w, to.dx);
  if (to.dw != nullptr) convolve_weight_gradient(s, x, dz.data<float>(), to.accumulate_w, to.dw);
}

}  // namespace lockring::kernels::cuda
