// Sums in double precision and a fixed order, in two or three passes: no atomics, so the same bits again and again.
//
// What is summed is a functor of the place, value(row, channel[, group]) or value(i), and what becomes of a sum
// another, finish(group, channel, sum) or finish(sum): so a sum reads its input once, whatever it is made of. Several
// sums over the same rows are one of `Sums`.
#pragma once

#include "core/cuda/host_device.h"

#include <cstdint>
#include <type_traits>

namespace lockring::kernels::cuda {

template <int kCount>
struct Sums {
  double of[kCount];
  LOCKRING_HOST_DEVICE Sums& operator+=(const Sums& other) {
    for (int i = 0; i < kCount; ++i) of[i] += other.of[i];
    return *this;
  }
};

// Rows in groups of `group` of them, one after another; the last group takes the remainder too.
struct RowGroups {
  std::int64_t rows, group, groups;
  LOCKRING_HOST_DEVICE std::int64_t begin(std::int64_t g) const { return g * group; }
  LOCKRING_HOST_DEVICE std::int64_t end(std::int64_t g) const { return g + 1 < groups ? (g + 1) * group : rows; }
  LOCKRING_HOST_DEVICE std::int64_t of_row(std::int64_t row) const {
    if (groups == 1) return 0;
    const std::int64_t g = row / group;
    return g < groups ? g : groups - 1;
  }
};

// What a value is, and a sum of values.
template <class Value, class = void>
struct SumOfValue {
  using Type = std::invoke_result_t<Value, std::int64_t, std::int64_t>;
};
template <class Value>
struct SumOfValue<Value, std::enable_if_t<std::is_invocable_v<Value, std::int64_t, std::int64_t, std::int64_t>>> {
  using Type = std::invoke_result_t<Value, std::int64_t, std::int64_t, std::int64_t>;
};
template <class Value>
using SumOf = typename SumOfValue<Value>::Type;

// Index (group * chunks + chunk) * channels + channel: the sum over the chunk's rows.
template <class Value, class Sum>
struct ChunkSums {
  Value value;
  RowGroups groups;
  std::int64_t channels, chunks, chunk;
  Sum* partial;
  LOCKRING_HOST_DEVICE void operator()(std::int64_t i) const {
    const std::int64_t channel = i % channels;
    const std::int64_t group = i / channels / chunks;
    const std::int64_t first = groups.begin(group) + i / channels % chunks * chunk;
    const std::int64_t end = groups.end(group);
    const std::int64_t last = first + chunk < end ? first + chunk : end;
    Sum sum{};
    for (std::int64_t row = first; row < last; ++row) {
      if constexpr (std::is_invocable_v<Value, std::int64_t, std::int64_t, std::int64_t>) {
        sum += value(row, channel, group);
      } else {
        sum += value(row, channel);
      }
    }
    partial[i] = sum;
  }
};

// What a chunk came to.
template <class Sum>
struct PartialRow {
  const Sum* partial;
  std::int64_t channels;
  LOCKRING_HOST_DEVICE Sum operator()(std::int64_t row, std::int64_t channel) const {
    return partial[row * channels + channel];
  }
};

// Index group * channels + channel: over the chunks.
template <class Finish, class Sum>
struct FinishColumns {
  const Sum* partial;
  std::int64_t chunks, channels;
  Finish finish;
  LOCKRING_HOST_DEVICE void operator()(std::int64_t i) const {
    const std::int64_t channel = i % channels;
    const std::int64_t group = i / channels;
    Sum sum{};
    for (std::int64_t chunk = 0; chunk < chunks; ++chunk) sum += partial[(group * chunks + chunk) * channels + channel];
    finish(group, channel, sum);
  }
};

// Index lane: every `lanes`-th value, so that neighbours read neighbours.
template <class Value>
struct LaneSums {
  Value value;
  std::int64_t count, lanes;
  double* partial;
  LOCKRING_HOST_DEVICE void operator()(std::int64_t lane) const {
    double sum = 0;
    for (std::int64_t i = lane; i < count; i += lanes) sum += value(i);
    partial[lane] = sum;
  }
};

struct Partial {
  const double* partial;
  LOCKRING_HOST_DEVICE double operator()(std::int64_t i) const { return partial[i]; }
};

// Index 0 alone.
template <class Finish>
struct FinishTotal {
  const double* partial;
  std::int64_t count;
  Finish finish;
  LOCKRING_HOST_DEVICE void operator()(std::int64_t) const {
    double sum = 0;
    for (std::int64_t i = 0; i < count; ++i) sum += partial[i];
    finish(sum);
  }
};

// What most sums of columns end as.
struct StoreSums {
  float* sums;
  bool accumulate;
  LOCKRING_HOST_DEVICE void operator()(std::int64_t, std::int64_t channel, double sum) const {
    sums[channel] = static_cast<float>(accumulate ? sums[channel] + sum : sum);
  }
};

}  // namespace lockring::kernels::cuda
