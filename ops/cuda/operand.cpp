#include "ops/cuda/operand.h"

#include "core/cuda/check.h"
#include "core/cuda/stream.h"
#include "ops/cast_kernel.h"

namespace lockring::kernels::cuda {
namespace {

bool is_aligned(const void* block) { return reinterpret_cast<std::uintptr_t>(block) % 16 == 0; }

}  // namespace

Operand::Operand(ConstReals values, std::int64_t count, DType dtype)
    : copy_(values.dtype == dtype && is_aligned(values.data) ? 0 : count * size_of(dtype)), values_(values.data) {
  if (copy_.data() == nullptr) return;
  values_ = copy_.data();
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
