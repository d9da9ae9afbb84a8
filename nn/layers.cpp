#include "nn/layers.h"

#include "ops/dropout.h"
#include "ops/elementwise.h"
#include "ops/global_pool.h"
#include "ops/max_pool2d.h"
#include "ops/reshape.h"

namespace lockring::nn {

Tensor Flatten::forward(const Tensor& x, const Context& /*context*/) const { return ops::flatten(x); }

Tensor Relu::forward(const Tensor& x, const Context& /*context*/) const { return ops::relu(x); }

Tensor MaxPool2d::forward(const Tensor& x, const Context& /*context*/) const {
  return ops::max_pool2d(x, kernel_, stride_);
}

Tensor GlobalMaxPool::forward(const Tensor& x, const Context& /*context*/) const { return ops::global_max_pool(x); }

Tensor GlobalAvgPool::forward(const Tensor& x, const Context& /*context*/) const { return ops::global_avg_pool(x); }

Tensor Dropout::forward(const Tensor& x, const Context& context) const {
  if (!context.training) return x;
  return ops::dropout(x, probability_,
                      {.seed = context.seed,
                       .step = context.step,
                       .layer = layer_,
                       .first_sample = context.first_sample,
                       .step_in_memory = context.step_in_memory});
}

}  // namespace lockring::nn
