#include "ops/cpu/conv2d.h"

#include "ops/cpu/brgemm.h"
#include "ops/cpu/winograd.h"
#include "ops/rows_kernel.h"
#include "ops/transpose_kernel.h"

#include <algorithm>
#include <vector>

namespace lockring::kernels::cpu {
namespace {

// Rows shorter than this make poor products; then the images of the batch take their place, if there are enough.
constexpr std::int64_t kShortRow = 8;
bool by_images(const ConvShape& s) { return s.ow < kShortRow && s.n > s.ow; }

// The addresses of a product's pairs; kept by each thread, so that a steady step does not allocate.
struct Pairs {
  std::vector<const float*> left;
  std::vector<const float*> right;

  void clear() {
    left.clear();
    right.clear();
  }
  void add(const float* l, const float* r) {
    left.push_back(l);
    right.push_back(r);
  }
  void run(const Brgemm& product, float* out) const {
    product(left.data(), right.data(), out, static_cast<std::int64_t>(left.size()));
  }
};
Pairs& empty_pairs() {
  thread_local Pairs pairs;
  pairs.clear();
  return pairs;
}

// Where in a bordered image the input of place (r, c) of the result begins for a tap, in floats.
std::int64_t input_at(const ConvShape& s, std::int64_t r, std::int64_t c, std::int64_t kh, std::int64_t kw) {
  return ((r * s.stride + kh) * s.w + c * s.stride + kw) * s.in;
}
std::int64_t image_floats(const ConvShape& s) { return s.h * s.w * s.in; }
std::int64_t result_floats(const ConvShape& s) { return s.oh * s.ow * s.out; }

void products_by_rows(const ConvShape& s, const float* x, const float* packed, float* y) {
  const Brgemm product({.rows = s.ow,
                        .cols = s.out,
                        .inner = s.in,
                        .left_stride = s.in * s.stride,
                        .right_stride = s.out,
                        .out_stride = s.out});
  for (std::int64_t n = 0; n < s.n; ++n)
    for (std::int64_t r = 0; r < s.oh; ++r) {
      Pairs& pairs = empty_pairs();
      for (std::int64_t tap = 0; tap < s.taps(); ++tap)
        pairs.add(x + n * image_floats(s) + input_at(s, r, 0, tap / s.kw, tap % s.kw), packed + tap * s.in * s.out);
      pairs.run(product, y + n * result_floats(s) + r * s.ow * s.out);
    }
}

void products_by_images(const ConvShape& s, const float* x, const float* packed, float* y) {
  const Brgemm product({.rows = s.n,
                        .cols = s.out,
                        .inner = s.in,
                        .left_stride = image_floats(s),
                        .right_stride = s.out,
                        .out_stride = result_floats(s)});
  for (std::int64_t place = 0; place < s.oh * s.ow; ++place) {
    Pairs& pairs = empty_pairs();
    for (std::int64_t tap = 0; tap < s.taps(); ++tap)
      pairs.add(x + input_at(s, place / s.ow, place % s.ow, tap / s.kw, tap % s.kw), packed + tap * s.in * s.out);
    pairs.run(product, y + place * s.out);
  }
}

// The row of dy that reaches bordered input row `q` through kernel row `kh`, or -1.
std::int64_t source_row(std::int64_t q, std::int64_t kh, std::int64_t stride, std::int64_t rows) {
  const std::int64_t offset = q - kh;
  if (offset < 0 || offset % stride != 0 || offset / stride >= rows) return -1;
  return offset / stride;
}

// dx of a bordered input, cleared before. Rows of dy are added where a kernel column puts them.
void input_gradient_by_rows(const ConvShape& s, const float* dy, const float* w, float* dx) {
  const Brgemm product({.rows = s.ow,
                        .cols = s.in,
                        .inner = s.out,
                        .left_stride = s.out,
                        .right_stride = s.patch(),
                        .out_stride = s.in * s.stride,
                        .accumulate = true});
  for (std::int64_t n = 0; n < s.n; ++n)
    for (std::int64_t q = 0; q < s.h; ++q)
      for (std::int64_t kw = 0; kw < s.kw; ++kw) {
        Pairs& pairs = empty_pairs();
        for (std::int64_t kh = 0; kh < s.kh; ++kh)
          if (const std::int64_t r = source_row(q, kh, s.stride, s.oh); r >= 0)
            pairs.add(dy + n * result_floats(s) + r * s.ow * s.out, w + (kh * s.kw + kw) * s.in);
        if (!pairs.left.empty()) pairs.run(product, dx + n * image_floats(s) + (q * s.w + kw) * s.in);
      }
}

void input_gradient_by_images(const ConvShape& s, const float* dy, const float* w, float* dx) {
  const Brgemm product({.rows = s.n,
                        .cols = s.in,
                        .inner = s.out,
                        .left_stride = result_floats(s),
                        .right_stride = s.patch(),
                        .out_stride = image_floats(s),
                        .accumulate = true});
  for (std::int64_t q = 0; q < s.h; ++q)
    for (std::int64_t p = 0; p < s.w; ++p) {
      Pairs& pairs = empty_pairs();
      for (std::int64_t tap = 0; tap < s.taps(); ++tap) {
        const std::int64_t r = source_row(q, tap / s.kw, s.stride, s.oh);
        const std::int64_t c = source_row(p, tap % s.kw, s.stride, s.ow);
        if (r >= 0 && c >= 0) pairs.add(dy + (r * s.ow + c) * s.out, w + tap * s.in);
      }
      if (!pairs.left.empty()) pairs.run(product, dx + (q * s.w + p) * s.in);
    }
}

void weight_gradient_by_rows(const ConvShape& s, const float* x, const float* dy, bool accumulate, float* dw) {
  const Brgemm product({.rows = s.out,
                        .cols = s.in,
                        .inner = s.ow,
                        .left_stride = s.out,
                        .right_stride = s.in * s.stride,
                        .out_stride = s.patch(),
                        .left_transposed = true,
                        .accumulate = accumulate});
  for (std::int64_t tap = 0; tap < s.taps(); ++tap) {
    Pairs& pairs = empty_pairs();
    for (std::int64_t n = 0; n < s.n; ++n)
      for (std::int64_t r = 0; r < s.oh; ++r)
        pairs.add(dy + n * result_floats(s) + r * s.ow * s.out,
                  x + n * image_floats(s) + input_at(s, r, 0, tap / s.kw, tap % s.kw));
    pairs.run(product, dw + tap * s.in);
  }
}

void weight_gradient_by_images(const ConvShape& s, const float* x, const float* dy, bool accumulate, float* dw) {
  const Brgemm product({.rows = s.out,
                        .cols = s.in,
                        .inner = s.n,
                        .left_stride = result_floats(s),
                        .right_stride = image_floats(s),
                        .out_stride = s.patch(),
                        .left_transposed = true,
                        .accumulate = accumulate});
  for (std::int64_t tap = 0; tap < s.taps(); ++tap) {
    Pairs& pairs = empty_pairs();
    for (std::int64_t place = 0; place < s.oh * s.ow; ++place)
      pairs.add(dy + place * s.out, x + input_at(s, place / s.ow, place % s.ow, tap / s.kw, tap % s.kw));
    pairs.run(product, dw + tap * s.in);
  }
}

void input_gradient(const ConvShape& s, const float* dy, const float* w, float* dx) {
  if (s.in < kFewChannels) return conv2d_patches_input_gradient(s, dy, w, dx);
  std::fill_n(dx, s.n * image_floats(s), 0.0F);
  (by_images(s) ? input_gradient_by_images : input_gradient_by_rows)(s, dy, w, dx);
}

}  // namespace

ConvShape padded(const ConvShape& shape) {
  ConvShape s = shape;
  s.h += 2 * shape.padding;
  s.w += 2 * shape.padding;
  s.padding = 0;
  return s;
}

const float* with_border(const ConvShape& s, const float* x, Tensor& scratch) {
  if (s.padding == 0) return x;
  const ConvShape p = padded(s);
  scratch = Tensor::zeros({s.n, p.h, p.w, s.in});
  float* to = scratch.data();
  for (std::int64_t n = 0; n < s.n; ++n)
    for (std::int64_t row = 0; row < s.h; ++row)
      std::copy_n(x + (n * s.h + row) * s.w * s.in, s.w * s.in,
                  to + ((n * p.h + row + s.padding) * p.w + s.padding) * s.in);
  return to;
}

void without_border(const ConvShape& s, const float* bordered, float* dx) {
  const ConvShape p = padded(s);
  for (std::int64_t n = 0; n < s.n; ++n)
    for (std::int64_t row = 0; row < s.h; ++row)
      std::copy_n(bordered + ((n * p.h + row + s.padding) * p.w + s.padding) * s.in, s.w * s.in,
                  dx + (n * s.h + row) * s.w * s.in);
}

void conv2d_products(const ConvShape& s, const float* x, const float* packed, float* y) {
  if (is_direct(s)) return conv2d_direct_products(s, x, packed, y);
  if (s.in < kFewChannels) return conv2d_patches_products(s, x, packed, y);
  (by_images(s) ? products_by_images : products_by_rows)(s, x, packed, y);
}

// The taps, and behind them what Winograd makes of them.
void conv2d_pack(const ConvShape& s, const float* w, float* packed) {
  kTranspose.on()(w, s.out, s.patch(), packed);
  if (has_winograd(s)) winograd_transform(s, packed, packed + winograd_offset(s));
}

std::int64_t conv2d_packed_floats(const ConvShape& s) {
  return s.out * s.patch() + (has_winograd(s) ? winograd_floats(s) : 0);
}

void conv2d_forward(const ConvShape& s, const float* x, const float* /*w*/, const float* packed, const float* bias,
                    Activation activation, float* y) {
  if (is_winograd(s)) return winograd_forward(s, x, packed + winograd_offset(s), bias, activation, y);
  Tensor scratch;
  const float* bordered = with_border(s, x, scratch);
  conv2d_products(padded(s), bordered, packed, y);
  kBiasActivation.on()(y, s.n * s.oh * s.ow, s.out, bias, activation);
}

void conv2d_input_gradient(const ConvShape& s, const float* dy, const float* w, float* dx) {
  if (is_winograd(s)) return winograd_input_gradient(s, dy, w, dx);
  if (s.padding == 0) return input_gradient(s, dy, w, dx);
  const ConvShape p = padded(s);
  Tensor bordered = Tensor::empty({s.n, p.h, p.w, s.in});
  input_gradient(p, dy, w, bordered.data());
  without_border(s, bordered.data(), dx);
}

void conv2d_weight_gradient(const ConvShape& s, const float* x, const float* dy, bool accumulate, float* dw) {
  if (is_winograd(s)) return winograd_weight_gradient(s, x, dy, accumulate, dw);
  Tensor scratch;
  const float* bordered = with_border(s, x, scratch);
  const ConvShape p = padded(s);
  if (is_direct(p)) return conv2d_direct_weight_gradient(p, bordered, dy, accumulate, dw);
  if (s.in < kFewChannels) return conv2d_patches_weight_gradient(p, bordered, dy, accumulate, dw);
  (by_images(p) ? weight_gradient_by_images : weight_gradient_by_rows)(p, bordered, dy, accumulate, dw);
}

}  // namespace lockring::kernels::cpu
