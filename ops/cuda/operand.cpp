#include "ops/cuda/operand.h"

#include "core/cuda/check.h"
#include "core/cuda/stream.h"
#include "ops/cast_kernel.h"

#include <cstdint>

namespace lockring::kernels::cuda {
namespace {

bool is_aligned(const void* block) { return reinterpret_cast<std::uintptr_t>(block) % 16 == 0; }

// What this thread's operands need not round again.
struct Rounded {
  const float* values = nullptr;
  std::int64_t count = 0;
  const std::uint16_t* rounded = nullptr;

  const void* find(const void* part, std::int64_t size) const {
    const auto* first = static_cast<const float*>(part);
    if (rounded == nullptr || first < values || first + size > values + count) return nullptr;
    return rounded + (first - values);
  }
};
thread_local Rounded known;

// The values as `dtype` where they are that already; else null.
const void* found(ConstReals values, std::int64_t count, DType dtype) {
  const bool rounds = values.dtype == DType::f32 && dtype == DType::bf16;
  const void* there = rounds ? known.find(values.data, count) : values.dtype == dtype ? values.data : nullptr;
  return is_aligned(there) ? there : nullptr;
}

}  // namespace

void use_rounded(const float* values, std::int64_t count, const void* rounded) {
  known = {values, count, static_cast<const std::uint16_t*>(rounded)};
}

Operand::Operand(ConstReals values, std::int64_t count, DType dtype)
    : values_(found(values, count, dtype)), copy_(values_ != nullptr ? 0 : count * size_of(dtype)) {
  if (copy_.data() == nullptr) return;
  if (values.dtype != dtype) {
    cast(values, count, {copy_.data(), dtype});
  } else {
    LOCKRING_CHECK_CUDA(cudaMemcpyAsync(copy_.data(), values.data, static_cast<std::size_t>(copy_.bytes()),
                                        cudaMemcpyDeviceToDevice, lockring::cuda::current_stream()));
  }
}

Result::Result(Reals y, std::int64_t count, DType dtype)
    : copy_(y.dtype == dtype ? 0 : count * size_of(dtype)), y_(y), count_(count), dtype_(dtype) {}

void Result::deliver() const {
  if (copy_.data() != nullptr) cast({copy_.data(), dtype_}, count_, y_);
}

}  // namespace lockring::kernels::cuda
