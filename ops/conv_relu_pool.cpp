#include "ops/conv_relu_pool.h"

#include "core/autograd.h"
#include "core/error.h"
#include "ops/conv_relu_pool_kernel.h"
#include "ops/count.h"

namespace lockring::ops {
namespace {

constexpr Kernel<ConvReluPoolForwardFn> kForward{"conv_relu_pool", kernels::cpu::conv_relu_pool_forward,
                                                 LOCKRING_CUDA_KERNEL(kernels::cuda::conv_relu_pool_forward)};
constexpr Kernel<ConvReluPoolBackwardFn> kBackward{"conv_relu_pool", kernels::cpu::conv_relu_pool_backward,
                                                   LOCKRING_CUDA_KERNEL(kernels::cuda::conv_relu_pool_backward)};

}  // namespace

Tensor conv_relu_pool(const Tensor& x, const Tensor& w, const Tensor& b, std::int64_t padding, const Tensor& packed) {
  ConvShape shape = conv_shape("conv_relu_pool", x, w, b, 1, padding);
  check(b.defined() && shape.oh >= 2 && shape.ow >= 2, "conv_relu_pool: a result of {} x {} leaves nothing to pool",
        shape.oh, shape.ow);
  count_multiply_adds(shape.n * shape.oh * shape.ow * shape.out * shape.patch());
  shape.oh -= shape.oh % 2;
  shape.ow -= shape.ow % 2;
  const Tensor weights = packed_weights(w, 1, packed);
  const Shape pooled{shape.n, shape.oh / 2, shape.ow / 2, shape.out};
  Tensor y = Tensor::empty(pooled, x.dtype(), x.device());
  Tensor source;
  if (needs_gradient(x, w, b)) source = Tensor::empty(pooled, DType::u8, x.device());
  kForward.on(x.device())(shape, x.reals(), w.data(), weights.data(), b.data(), y.reals(),
                          static_cast<std::uint8_t*>(source.raw()));

  if (source.defined()) {
    record(y, {&x, &w, &b}, [shape, x = x.detach(), w = w.detach(), source](const Tensor& dy, GradTargets to) {
      Tensor dx = to[0].wanted() ? Tensor::empty(x.shape(), x.dtype(), x.device()) : Tensor();
      GradSlot dw = to[1].wanted() ? to[1].slot() : GradSlot{};
      GradSlot db = to[2].wanted() ? to[2].slot() : GradSlot{};
      kBackward.on(x.device())(shape, x.reals(), w.data(), dy.reals(), source.data<std::uint8_t>(), dx.reals(),
                               {dw.grad.data(), db.grad.data(), dw.accumulate, db.accumulate});
      if (to[0].wanted()) to[0].add(std::move(dx));
    });
  }
  return y;
}

}  // namespace lockring::ops
