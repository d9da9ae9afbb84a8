// Elementwise kernels: y[i] = f(where, a[i], b[i], ...), all of them float32 or all bfloat16, computed in float32.
//
//   struct Relu {
//     LOCKRING_HOST_DEVICE float operator()(RowColumn, float x) const { return x < 0 ? 0 : x; }
//   };
//   map(count, y, Relu{}, x);
//
// A thread takes 16 bytes at once where sizes and addresses allow it, since a GPU's memory wants many bytes under way.
// An input may be y itself.
#pragma once

#include "core/cuda/bf16.h"
#include "core/cuda/launch.h"

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace lockring::cuda {

struct RowColumn {
  std::int64_t row, column;
};

// What is read and written at once.
template <class T, int kCount = 16 / sizeof(T)>
struct alignas(sizeof(T) * kCount) Pack {
  static constexpr int kSize = kCount;
  T values[kCount];
};

template <int kCount, class T>
LOCKRING_HOST_DEVICE Pack<T, kCount> pack_at(const T* first) {
  return *reinterpret_cast<const Pack<T, kCount>*>(first);
}
template <class T, int kCount>
LOCKRING_HOST_DEVICE void put_pack(T* first, const Pack<T, kCount>& pack) {
  *reinterpret_cast<Pack<T, kCount>*>(first) = pack;
}
template <class T, int kCount>
LOCKRING_HOST_DEVICE Pack<T, kCount> pack_of(const float (&values)[kCount]) {
  Pack<T, kCount> pack;
  for (int j = 0; j < kCount; ++j) store(pack.values + j, values[j]);
  return pack;
}

// One index a pack of elements of one row.
template <class T, int kCount, class F, class Inputs>
struct Map;
template <class T, int kCount, class F, std::size_t... Input>
struct Map<T, kCount, F, std::index_sequence<Input...>> {
  F f;
  std::int64_t columns;
  T* y;
  const T* inputs[sizeof...(Input)];
  LOCKRING_HOST_DEVICE void operator()(std::int64_t i) const {
    const std::int64_t first = i * kCount;
    const Pack<T, kCount> read[] = {pack_at<kCount>(inputs[Input] + first)...};
    const std::int64_t row = first / columns;
    const std::int64_t column = first % columns;
    Pack<T, kCount> result;
    for (int j = 0; j < kCount; ++j)
      store(result.values + j, f(RowColumn{row, column + j}, to_float(read[Input].values[j])...));
    put_pack(y + first, result);
  }
};

template <class P>
bool begins_with(const void* block) {
  return reinterpret_cast<std::uintptr_t>(block) % alignof(P) == 0;
}

// Calls f(std::integral_constant) with how many elements of a row of T, and as many of each block, may be taken at
// once: those of a Pack<T>, or one.
template <class T, class F, class... Blocks>
void with_pack_size(std::int64_t columns, const F& f, const Blocks*... blocks) {
  if (columns % Pack<T>::kSize == 0 && (begins_with<Pack<Blocks, Pack<T>::kSize>>(blocks) && ...))
    return f(std::integral_constant<int, Pack<T>::kSize>{});
  f(std::integral_constant<int, 1>{});
}

// What a block is where reals are T; other blocks stay as they are.
template <class T>
const T* block_of(ConstReals reals) {
  return elements<T>(reals);
}
template <class T>
T* block_of(Reals reals) {
  return elements<T>(reals);
}
template <class T, class Block>
Block* block_of(Block* block) {
  return block;
}

// Launches Kernel<T, size>{shape, blocks...}, an index for each `size` of `count` elements, which lie in rows of
// `columns`. `dtype` says what T is; reals among the blocks come as pointers to it.
template <template <class, int> class Kernel, class Shape, class... Blocks>
void for_each_pack(DType dtype, std::int64_t count, std::int64_t columns, const Shape& shape, Blocks... blocks) {
  with_type(dtype, [&](auto type) {
    using T = decltype(type);
    with_pack_size<T>(
        columns,
        [&](auto size) {
          for_each_index(count / size, Kernel<T, size>{shape, block_of<T>(blocks)...});
        },
        block_of<T>(blocks)...);
  });
}

// For a matrix of rows; an element's index is row * columns + column.
template <class F, class... Inputs>
void map_rows(std::int64_t rows, std::int64_t columns, Reals y, const F& f, Inputs... inputs) {
  with_type(y.dtype, [&](auto type) {
    using T = decltype(type);
    using Numbers = std::index_sequence_for<Inputs...>;
    with_pack_size<T>(
        columns,
        [&](auto size) {
          for_each_index(rows * columns / size,
                         Map<T, size, F, Numbers>{f, columns, elements<T>(y), {elements<T>(ConstReals(inputs))...}});
        },
        elements<T>(y), elements<T>(ConstReals(inputs))...);
  });
}

template <class F, class... Inputs>
void map(std::int64_t count, Reals y, const F& f, Inputs... inputs) {
  map_rows(1, count, y, f, inputs...);
}

}  // namespace lockring::cuda
