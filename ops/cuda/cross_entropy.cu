#include "ops/cross_entropy_kernel.h"

#include "ops/cuda/cross_entropy_functor.h"
#include "ops/cuda/sums.h"

namespace lockring::kernels::cuda {

using lockring::cuda::for_each_index;

void cross_entropy(const float* logits, const CrossEntropyTarget& target, std::int64_t rows, std::int64_t classes,
                   float* probabilities, float* loss, std::int64_t* bad_row) {
  const Labels labels{target, classes};
  const lockring::cuda::Scratch losses(rows * static_cast<std::int64_t>(sizeof(double)));
  for_each_index(rows, CrossEntropyRow{labels, logits, probabilities, losses.data<double>()});
  total_sum(rows, Partial{losses.data<double>()}, StoreLoss{loss});
  for_each_index(1, FirstBadRow{labels, rows, loss, bad_row});
}

void cross_entropy_gradient(const float* probabilities, const CrossEntropyTarget& target, std::int64_t rows,
                            std::int64_t classes, const float* dloss, float* dlogits) {
  for_each_index(rows, CrossEntropyGradientRow{Labels{target, classes}, probabilities, dloss, dlogits});
}

}  // namespace lockring::kernels::cuda
