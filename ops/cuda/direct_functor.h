// Convolutions and products by their definitions, one index an element of the result: slow, and right for every shape.
#pragma once

#include "core/cuda/host_device.h"
#include "ops/conv2d_kernel.h"
#include "ops/cuda/product.h"

#include <cstdint>

namespace lockring::kernels::cuda {

// y = x * w.
struct DirectConvolution {
  ConvShape s;
  const float *x, *w;
  float* y;
  LOCKRING_HOST_DEVICE void operator()(std::int64_t i) const {
    const std::int64_t out = i % s.out;
    const std::int64_t column = i / s.out % s.ow * s.stride - s.padding;
    const std::int64_t row = i / s.out / s.ow % s.oh * s.stride - s.padding;
    const std::int64_t image = i / s.out / s.ow / s.oh;
    double sum = 0;
    for (std::int64_t a = 0; a < s.kh; ++a)
      for (std::int64_t b = 0; b < s.kw; ++b) {
        if (row + a < 0 || row + a >= s.h || column + b < 0 || column + b >= s.w) continue;
        const float* pixel = x + ((image * s.h + row + a) * s.w + column + b) * s.in;
        const float* weights = w + ((out * s.kh + a) * s.kw + b) * s.in;
        for (std::int64_t c = 0; c < s.in; ++c) sum += double{pixel[c]} * weights[c];
      }
    y[i] = static_cast<float>(sum);
  }
};

// dx: each pixel asks the results that it is a part of.
struct DirectInputGradient {
  ConvShape s;
  const float *dy, *w;
  float* dx;
  LOCKRING_HOST_DEVICE void operator()(std::int64_t i) const {
    const std::int64_t in = i % s.in;
    const std::int64_t column = i / s.in % s.w + s.padding;
    const std::int64_t row = i / s.in / s.w % s.h + s.padding;
    const std::int64_t image = i / s.in / s.w / s.h;
    double sum = 0;
    for (std::int64_t a = 0; a < s.kh; ++a)
      for (std::int64_t b = 0; b < s.kw; ++b) {
        const std::int64_t y = row - a;
        const std::int64_t x = column - b;
        if (y < 0 || x < 0 || y % s.stride != 0 || x % s.stride != 0) continue;
        if (y / s.stride >= s.oh || x / s.stride >= s.ow) continue;
        const float* results = dy + ((image * s.oh + y / s.stride) * s.ow + x / s.stride) * s.out;
        for (std::int64_t o = 0; o < s.out; ++o) sum += double{results[o]} * w[((o * s.kh + a) * s.kw + b) * s.in + in];
      }
    dx[i] = static_cast<float>(sum);
  }
};

// What a weight's gradient is a sum of: `row` is a place of a result, `weight` the weight's place in OHWI.
struct WeightGradientTerm {
  ConvShape s;
  const float *x, *dy;
  LOCKRING_HOST_DEVICE double operator()(std::int64_t row, std::int64_t weight) const {
    const std::int64_t in = weight % s.in;
    const std::int64_t b = weight / s.in % s.kw;
    const std::int64_t a = weight / s.in / s.kw % s.kh;
    const std::int64_t out = weight / s.in / s.kw / s.kh;
    const std::int64_t pixel_column = row % s.ow * s.stride - s.padding + b;
    const std::int64_t pixel_row = row / s.ow % s.oh * s.stride - s.padding + a;
    if (pixel_row < 0 || pixel_row >= s.h || pixel_column < 0 || pixel_column >= s.w) return 0;
    const std::int64_t image = row / s.ow / s.oh;
    return double{x[((image * s.h + pixel_row) * s.w + pixel_column) * s.in + in]} * dy[row * s.out + out];
  }
};

// Index column * m + row of D.
struct DirectProduct {
  ProductShape s;
  const float *a, *b, *bias;
  float* d;
  LOCKRING_HOST_DEVICE void operator()(std::int64_t i) const {
    const std::int64_t row = i % s.m;
    const std::int64_t column = i / s.m;
    double sum = s.accumulate ? d[i] : 0;
    for (std::int64_t l = 0; l < s.k; ++l) {
      const float left = s.transpose_a ? a[row * s.k + l] : a[l * s.m + row];
      const float right = s.transpose_b ? b[l * s.n + column] : b[column * s.k + l];
      sum += double{left} * right;
    }
    if (bias != nullptr) sum += bias[row];
    const auto value = static_cast<float>(sum);
    d[i] = s.activation == Activation::relu && value < 0 ? 0.0F : value;  // NaN passes
  }
};

}  // namespace lockring::kernels::cuda
