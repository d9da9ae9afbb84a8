// Matrices and images of float32 or bfloat16 as the CPU's kernels take them: in float32.
#pragma once

#include "core/bf16.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace fake_cuda {

class Reading {
 public:
  Reading(const void* values, std::size_t count, bool bf16) : values_(static_cast<const float*>(values)) {
    if (!bf16) return;
    const auto* rounded = static_cast<const std::uint16_t*>(values);
    copy_.reserve(count);
    for (std::size_t i = 0; i < count; ++i) copy_.push_back(lockring::from_bf16(rounded[i]));
    values_ = copy_.data();
  }
  const float* data() const { return values_; }

 private:
  std::vector<float> copy_;
  const float* values_;
};

// What is written to data() is in `values` once this has gone.
class Writing {
 public:
  Writing(void* values, std::size_t count, bool bf16)
      : copy_(bf16 ? count : 0), values_(static_cast<float*>(values)), rounded_(static_cast<std::uint16_t*>(values)) {
    if (bf16) values_ = copy_.data();
  }
  ~Writing() {
    for (std::size_t i = 0; i < copy_.size(); ++i) rounded_[i] = lockring::to_bf16(copy_[i]);
  }
  Writing(const Writing&) = delete;
  Writing& operator=(const Writing&) = delete;
  float* data() const { return values_; }

 private:
  std::vector<float> copy_;
  float* values_;
  std::uint16_t* rounded_;
};

}  // namespace fake_cuda
