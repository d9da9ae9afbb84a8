#include "ops/argmax.h"

#include "ops/argmax_kernel.h"

namespace lockring::ops {
namespace {

constexpr Kernel<ArgmaxFn> kArgmax{"argmax", kernels::cpu::argmax, LOCKRING_CUDA_KERNEL(kernels::cuda::argmax)};
constexpr Kernel<CountCorrectFn> kCountCorrect{"count_correct", kernels::cpu::count_correct,
                                               LOCKRING_CUDA_KERNEL(kernels::cuda::count_correct)};

void check_scores(const Tensor& scores) {
  check(scores.rank() == 2 && scores.size(1) > 0, "argmax: scores are [n, channels], not {}", scores.shape());
}

}  // namespace

Tensor argmax(const Tensor& scores) {
  check_scores(scores);
  Tensor index = Tensor::empty({scores.size(0)}, DType::i32, scores.device());
  kArgmax.on(scores.device())(scores.data(), scores.size(0), scores.size(1), index.data<std::int32_t>());
  return index;
}

Tensor correct_count(const Tensor& scores, const Tensor& labels) {
  check_scores(scores);
  check(labels.dtype() == DType::i32 && labels.shape() == Shape{scores.size(0)},
        "count_correct: labels {} {} do not fit scores {}", name_of(labels.dtype()), labels.shape(), scores.shape());
  Tensor correct = Tensor::empty({1}, DType::i64, scores.device());
  kCountCorrect.on(scores.device())(scores.data(), labels.data<std::int32_t>(), scores.size(0), scores.size(1),
                                    correct.data<std::int64_t>());
  return correct;
}

std::int64_t count_correct(const Tensor& scores, const Tensor& labels) {
  return correct_count(scores, labels).item<std::int64_t>();
}

}  // namespace lockring::ops
