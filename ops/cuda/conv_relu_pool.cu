#include "ops/conv_relu_pool_kernel.h"
#include "ops/cuda/conv_relu_pool_functor.h"
#include "ops/cuda/convolution.h"
#include "ops/cuda/sums.h"

namespace lockring::kernels::cuda {
namespace {

using lockring::cuda::elements;
using lockring::cuda::for_each_index;
using lockring::cuda::for_each_pack;
using lockring::cuda::Scratch;
using lockring::cuda::with_pack_size;
using lockring::cuda::with_type;

// The shape of the whole convolution, of which `shape` is the even part.
ConvShape whole(const ConvShape& shape) {
  ConvShape s = shape;
  s.oh = s.h + 2 * s.padding - s.kh + 1;
  s.ow = s.w + 2 * s.padding - s.kw + 1;
  return s;
}

std::int64_t result_size(const ConvShape& s) { return s.n * s.oh * s.ow * s.out; }

}  // namespace

void conv_relu_pool_forward(const ConvShape& shape, ConstReals x, const float* w, const float* /*packed*/,
                            const float* bias, Reals y, std::uint8_t* source) {
  const ConvShape s = whole(shape);
  with_type(x.dtype, [&](auto type) {
    using T = decltype(type);
    const Scratch z(result_size(s) * static_cast<std::int64_t>(sizeof(T)));
    convolve(s, x, w, {z.data(), x.dtype});
    with_pack_size<T>(
        s.out,
        [&](auto size) {
          for_each_index(
              result_size(shape) / 4 / size,
              BiasReluPool<T, size>{PooledShape{s.oh, s.ow, s.out}, z.data<T>(), bias, elements<T>(y), source});
        },
        elements<T>(y), source);
  });
}

void conv_relu_pool_backward(const ConvShape& shape, ConstReals x, const float* w, ConstReals dy,
                             const std::uint8_t* source, Reals dx, const ConvReluPoolGradients& to) {
  if (to.db != nullptr)
    with_type(dy.dtype, [&](auto type) {
      using T = decltype(type);
      column_sums(shape.n * (shape.oh / 2) * (shape.ow / 2), shape.out,
                  SourcedValue<T>{elements<T>(dy), source, shape.out}, StoreSums{to.db, to.accumulate_b});
    });
  if (dx.data == nullptr && to.dw == nullptr) return;
  const ConvShape s = whole(shape);
  const Scratch memory(result_size(s) * size_of(dy.dtype));
  const Reals dz{memory.data(), dy.dtype};
  for_each_pack<Unpool>(dy.dtype, result_size(s), s.out, PooledShape{s.oh, s.ow, s.out}, dy, source, dz);
  if (dx.data != nullptr) convolve_input_gradient(s, dz, w, dx);
  if (to.dw != nullptr) convolve_weight_gradient(s, x, dz, to.accumulate_w, to.dw);
}

}  // namespace lockring::kernels::cuda
