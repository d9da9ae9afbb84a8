#include "ops/conv2d.h"

#include "core/autograd.h"
#include "core/error.h"
#include "ops/conv2d_kernel.h"
#include "ops/count.h"
#include "ops/rows_kernel.h"

namespace lockring::ops {
namespace {

// What packing looks at.
ConvShape shape_of_weights(const Tensor& w, std::int64_t stride) {
  ConvShape shape{};
  shape.out = w.size(0);
  shape.kh = w.size(1);
  shape.kw = w.size(2);
  shape.in = w.size(3);
  shape.stride = stride;
  return shape;
}

void check_packed(const Tensor& packed, std::int64_t floats, const Tensor& w) {
  check(packed.elements() == floats, "conv2d: packed weights of shape {} do not fit weights of shape {}",
        packed.shape(), w.shape());
}

}  // namespace

ConvShape conv_shape(const char* op, const Tensor& x, const Tensor& w, const Tensor& b, std::int64_t stride,
                     std::int64_t padding) {
  check(x.rank() == 4 && w.rank() == 4 && x.size(3) == w.size(3), "{}: x {} does not fit weights {}", op, x.shape(),
        w.shape());
  check(!b.defined() || b.shape() == Shape{w.size(0)}, "{}: bias {} does not fit weights {}", op, b.shape(), w.shape());
  check(x.size(1) > 0 && x.size(2) > 0, "{}: x {} has no pixels", op, x.shape());
  check(stride > 0 && padding >= 0, "{}: stride {} and padding {} are not possible", op, stride, padding);
  check(w.size(1) > 0 && w.size(2) > 0 && w.size(1) <= x.size(1) + 2 * padding && w.size(2) <= x.size(2) + 2 * padding,
        "{}: a kernel of {} x {} does not fit into x {} with padding {}", op, w.size(1), w.size(2), x.shape(), padding);
  ConvShape s{};
  s.n = x.size(0);
  s.h = x.size(1);
  s.w = x.size(2);
  s.in = x.size(3);
  s.out = w.size(0);
  s.kh = w.size(1);
  s.kw = w.size(2);
  s.stride = stride;
  s.padding = padding;
  s.oh = (s.h + 2 * padding - s.kh) / stride + 1;
  s.ow = (s.w + 2 * padding - s.kw) / stride + 1;
  return s;
}

Tensor packed_weights(const Tensor& w, std::int64_t stride, const Tensor& packed) {
  Tensor weights = packed;
  if (weights.defined()) {
    check_packed(weights, kConv2dPackedFloats.on()(shape_of_weights(w, stride)), w);
  } else {
    pack_conv2d_weights(w, stride, weights);
  }
  return weights;
}

Tensor conv2d(const Tensor& x, const Tensor& w, const Tensor& b, const Conv2dOptions& options, const Tensor& packed) {
  const ConvShape shape = conv_shape("conv2d", x, w, b, options.stride, options.padding);
  const Tensor weights = packed_weights(w, options.stride, packed);
  Tensor y = Tensor::empty({shape.n, shape.oh, shape.ow, shape.out}, x.dtype(), x.device());
  kConv2dForward.on(x.device())(shape, x.reals(), w.data(), weights.data(), b.data(), options.activation, y.reals());
  count_multiply_adds(shape.n * shape.oh * shape.ow * shape.out * shape.patch());

  if (needs_gradient(x, w, b)) {
    const Tensor result = options.activation == Activation::relu ? y.detach() : Tensor();
    record(y, {&x, &w, &b}, [shape, x = x.detach(), w = w.detach(), result](const Tensor& dy, GradTargets to) {
      Tensor dz = dy;
      if (result.defined()) {
        dz = Tensor::empty(dy.shape(), dy.dtype(), dy.device());
        kReluGradient.on(dy.device())(result.reals(), dy.reals(), dy.elements(), dz.reals());
      }
      const ConstReals gradient = std::as_const(dz).reals();
      if (to[0].wanted()) {
        Tensor dx = Tensor::empty(x.shape(), x.dtype(), x.device());
        kConv2dInputGradient.on(x.device())(shape, gradient, w.data(), dx.reals());
        to[0].add(std::move(dx));
      }
      if (to[1].wanted()) {
        auto [dw, accumulate] = to[1].slot();
        kConv2dWeightGradient.on(x.device())(shape, x.reals(), gradient, accumulate, dw.data());
      }
      if (to[2].wanted()) {
        auto [db, accumulate] = to[2].slot();
        kSumRows.on(x.device())(gradient, shape.n * shape.oh * shape.ow, shape.out, accumulate, db.data());
      }
    });
  }
  return y;
}

void pack_conv2d_weights(const Tensor& w, std::int64_t stride, Tensor& packed) {
  check(w.rank() == 4, "conv2d: weights are [out][kh][kw][in], not of shape {}", w.shape());
  if (w.device().kind != DeviceKind::cpu) return;
  const ConvShape shape = shape_of_weights(w, stride);
  const std::int64_t floats = kConv2dPackedFloats.on()(shape);
  if (!packed.defined()) packed = Tensor::empty({floats});
  check_packed(packed, floats, w);
  kConv2dPack.on()(shape, w.data(), packed.data());
}

}  // namespace lockring::ops
