#include "ops/cpu/conv2d.h"
#include "ops/cpu/gemm.h"

#include <algorithm>

namespace lockring::kernels::cpu {
namespace {

std::int64_t places(const ConvShape& s) { return s.oh * s.ow; }

// Calls f(patch row, image pointer) for each run of kw*in values that a patch and an image share.
template <class Image, class F>
void for_each_run(const ConvShape& s, Image* image, F f) {
  for (std::int64_t r = 0; r < s.oh; ++r)
    for (std::int64_t c = 0; c < s.ow; ++c)
      for (std::int64_t kh = 0; kh < s.kh; ++kh)
        f((r * s.ow + c) * s.patch() + kh * s.kw * s.in, image + ((r * s.stride + kh) * s.w + c * s.stride) * s.in);
}

// patches[oh*ow][kh*kw*in] of one image.
void gather_patches(const ConvShape& s, const float* image, float* patches) {
  for_each_run(s, image, [&](std::int64_t to, const float* from) { std::copy_n(from, s.kw * s.in, patches + to); });
}

void add_patches(const ConvShape& s, const float* patches, float* image) {
  for_each_run(s, image, [&](std::int64_t from, float* to) {
    for (std::int64_t i = 0; i < s.kw * s.in; ++i) to[i] += patches[from + i];
  });
}

}  // namespace

void conv2d_patches_products(const ConvShape& s, const float* x, const float* packed, float* y) {
  Tensor patches = Tensor::empty({places(s), s.patch()});
  for (std::int64_t n = 0; n < s.n; ++n) {
    gather_patches(s, x + n * s.h * s.w * s.in, patches.data());
    gemm({.rows = places(s),
          .cols = s.out,
          .inner = s.patch(),
          .left_stride = s.patch(),
          .right_stride = s.out,
          .out_stride = s.out},
         patches.data(), packed, y + n * places(s) * s.out);
  }
}

void conv2d_patches_input_gradient(const ConvShape& s, const float* dy, const float* w, float* dx) {
  Tensor patches = Tensor::empty({places(s), s.patch()});
  std::fill_n(dx, s.n * s.h * s.w * s.in, 0.0F);
  for (std::int64_t n = 0; n < s.n; ++n) {
    gemm({.rows = places(s),
          .cols = s.patch(),
          .inner = s.out,
          .left_stride = s.out,
          .right_stride = s.patch(),
          .out_stride = s.patch()},
         dy + n * places(s) * s.out, w, patches.data());
    add_patches(s, patches.data(), dx + n * s.h * s.w * s.in);
  }
}

void conv2d_patches_weight_gradient(const ConvShape& s, const float* x, const float* dy, bool accumulate, float* dw) {
  Tensor patches = Tensor::empty({places(s), s.patch()});
  if (s.n == 0 && !accumulate) std::fill_n(dw, s.out * s.patch(), 0.0F);
  for (std::int64_t n = 0; n < s.n; ++n) {
    gather_patches(s, x + n * s.h * s.w * s.in, patches.data());
    gemm({.rows = s.out,
          .cols = s.patch(),
          .inner = places(s),
          .left_stride = s.out,
          .right_stride = s.patch(),
          .out_stride = s.patch(),
          .left_transposed = true,
          .accumulate = accumulate || n > 0},
         dy + n * places(s) * s.out, patches.data(), dw);
  }
}

}  // namespace lockring::kernels::cpu
