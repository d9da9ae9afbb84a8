#include "ops/dropout.h"

#include "core/autograd.h"
#include "core/rng.h"
#include "ops/dropout_kernel.h"

namespace lockring::ops {
namespace {

constexpr Kernel<DropoutFn> kDropout{"dropout", LOCKRING_SIMD_KERNELS(dropout),
                                     LOCKRING_CUDA_KERNEL(kernels::cuda::dropout)};

constexpr Kernel<DropoutKeyFn> kDropoutKey{"dropout", nullptr, LOCKRING_CUDA_KERNEL(kernels::cuda::dropout_key)};

struct Mask {
  std::uint64_t key;
  Tensor key_in_memory;  // i64 [1], or undefined
  std::int64_t first_sample;
  std::uint32_t threshold;
  float scale;

  Tensor apply(const Tensor& x) const {
    Tensor y = Tensor::empty(x.shape(), x.dtype(), x.device());
    const std::int64_t rows = x.size(0);
    const std::int64_t columns = rows == 0 ? 0 : x.elements() / rows;
    kDropout.on(x.device())(x.reals(), rows, columns, first_sample, key,
                            static_cast<const std::uint64_t*>(key_in_memory.raw()), threshold, scale, y.reals());
    return y;
  }
};

}  // namespace

Tensor dropout(const Tensor& x, float probability, const DropoutKey& key) {
  check(probability >= 0 && probability < 1, "dropout: the probability {} is not in [0, 1)", probability);
  check(x.rank() > 0, "dropout: a tensor of rank 0 has no rows");
  if (probability == 0) return x;
  Rng rng(key.seed, RngStream::dropout, static_cast<std::uint64_t>(key.step), key.layer);
  const std::uint64_t low = rng.next_u32();
  const std::uint64_t high = rng.next_u32();
  Tensor key_in_memory;
  if (key.step_in_memory != nullptr) {
    key_in_memory = Tensor::empty({1}, DType::i64, x.device());
    kDropoutKey.on(x.device())(key.seed, key.step_in_memory, key.layer,
                               static_cast<std::uint64_t*>(key_in_memory.raw()));
  }
  const Mask mask{.key = high << 32 | low,
                  .key_in_memory = key_in_memory,
                  .first_sample = key.first_sample,
                  .threshold = static_cast<std::uint32_t>(double{probability} * 0x1p32),
                  .scale = 1 / (1 - probability)};
  Tensor y = mask.apply(x);

  if (needs_gradient(x)) record(y, {&x}, [mask](const Tensor& dy, GradTargets to) { to[0].add(mask.apply(dy)); });
  return y;
}

}  // namespace lockring::ops
