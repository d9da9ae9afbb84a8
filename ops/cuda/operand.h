// What the libraries of CUDA read and write: of one type, and aligned for tensor cores.
#pragma once

#include "core/cuda/allocator.h"
#include "core/reals.h"

#include <cstdint>

namespace lockring::kernels::cuda {

// y (+)= x, of any type.
void add_cast(ConstReals x, std::int64_t count, bool accumulate, float* y);

// Values of a type, aligned to 16 bytes: themselves if they are that, what use_rounded() has told, or a copy.
class Operand {
 public:
  Operand(ConstReals values, std::int64_t count, DType dtype);
  const void* data() const { return values_ != nullptr ? values_ : copy_.data(); }

 private:
  const void* values_;  // null: the copy
  lockring::cuda::Scratch copy_;
};

// Where results of a type go that are wanted in y: y itself if it has that type, else memory of their own.
class Result {
 public:
  Result(Reals y, std::int64_t count, DType dtype);
  void* data() const { return copy_.data() == nullptr ? y_.data : copy_.data(); }
  // To be called when what writes data() has been asked for.
  void deliver() const;

 private:
  lockring::cuda::Scratch copy_;
  Reals y_;
  std::int64_t count_;
  DType dtype_;
};

}  // namespace lockring::kernels::cuda
