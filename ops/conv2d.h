// 2-D convolution (cross-correlation, as everywhere in the field) on NHWC images with OHWI weights.
//
//   y[n][oh][ow][out] = activation(b[out] + sum over kh, kw, in of
//                                  x[n][oh*stride+kh-pad][ow*stride+kw-pad][in] * w[out][kh][kw][in])
#pragma once

#include "core/tensor.h"
#include "ops/activation.h"

#include <cstdint>

namespace lockring::ops {

struct Conv2dOptions {
  std::int64_t stride = 1;
  std::int64_t padding = 0;  // zeros on each side, in both directions
  Activation activation = Activation::none;
};

// x [n][h][w][in], w [out][kh][kw][in], b [out] or undefined. `packed` is w in the form of pack_conv2d_weights, or
// undefined: then it is packed anew. Differentiable in x, w and b. Throws Error{usage} on shapes that do not fit.
// Where x or w is infinite, results nearby that should not be may be NaN: transforms (Winograd's here, others in cuDNN)
// take differences of what they convolve.
Tensor conv2d(const Tensor& x, const Tensor& w, const Tensor& b = {}, const Conv2dOptions& options = {},
              const Tensor& packed = {});

// Writes the form of w that conv2d with this stride reads on CPUs into `packed`, allocating it if it is undefined.
// Leaves `packed` undefined on a device that reads weights as they are.
void pack_conv2d_weights(const Tensor& w, std::int64_t stride, Tensor& packed);

}  // namespace lockring::ops
