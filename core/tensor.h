// A dense array: a cheap value handle on shared Storage.
//
// Always contiguous and row-major. Copies, reshapes and slices of the leading dimension share memory. A Tensor may be
// passed between threads; its elements are not synchronised. Images are NHWC, convolution weights OHWI, linear weights
// [out][in], everywhere and on every device.
#pragma once

#include "core/dtype.h"
#include "core/reals.h"
#include "core/shape.h"
#include "core/storage.h"

#include <cassert>
#include <cstdint>
#include <initializer_list>
#include <span>

namespace lockring {

struct GradNode;

class Tensor {
 public:
  Tensor() = default;

  static Tensor empty(const Shape& shape, DType dtype = DType::f32, Device device = {});
  static Tensor zeros(const Shape& shape, DType dtype = DType::f32, Device device = {});
  static Tensor full(const Shape& shape, float value, Device device = {});
  // Copies `values`; throws Error{usage} if their number is not the shape's.
  template <class T>
  static Tensor from(std::span<const T> values, const Shape& shape, Device device = {}) {
    return copy_of(values.data(), static_cast<std::int64_t>(values.size()), shape, DTypeOf<T>::value, device);
  }
  static Tensor from(std::initializer_list<float> values, const Shape& shape, Device device = {}) {
    return from(std::span<const float>(values.begin(), values.size()), shape, device);
  }
  // A tensor on memory that exists, `offset` bytes into it.
  static Tensor view_of(Storage storage, std::int64_t offset, const Shape& shape, DType dtype = DType::f32);

  bool defined() const { return static_cast<bool>(storage_); }
  const Shape& shape() const { return shape_; }
  int rank() const { return shape_.rank(); }
  std::int64_t size(int dimension) const { return shape_[dimension]; }
  std::int64_t elements() const { return shape_.elements(); }
  std::int64_t bytes() const { return shape_.elements() * size_of(dtype_); }
  DType dtype() const { return dtype_; }
  Device device() const { return storage_.device(); }
  const Storage& storage() const { return storage_; }

  template <class T = float>
  T* data() {
    assert(DTypeOf<T>::value == dtype_);
    return static_cast<T*>(raw());
  }
  template <class T = float>
  const T* data() const {
    assert(DTypeOf<T>::value == dtype_);
    return static_cast<const T*>(raw());
  }
  // The same for kernels that know bfloat16 too.
  Reals reals() {
    assert(!defined() || dtype_ == DType::f32 || dtype_ == DType::bf16);
    return {raw(), dtype_};
  }
  ConstReals reals() const {
    assert(!defined() || dtype_ == DType::f32 || dtype_ == DType::bf16);
    return {raw(), dtype_};
  }
  void* raw() const { return defined() ? static_cast<char*>(storage_.data()) + offset_ : nullptr; }
  // The elements of a tensor in the CPU's memory; a pointer into a GPU's is for kernels alone.
  template <class T = float>
  std::span<T> values() {
    assert(!defined() || device().kind == DeviceKind::cpu);
    return {data<T>(), static_cast<std::size_t>(elements())};
  }
  template <class T = float>
  std::span<const T> values() const {
    assert(!defined() || device().kind == DeviceKind::cpu);
    return {data<T>(), static_cast<std::size_t>(elements())};
  }
  // The value of a tensor of one element; of one on a GPU, as soon as it is computed.
  template <class T = float>
  T item() const {
    T value;
    read_item(&value, DTypeOf<T>::value);
    return value;
  }

  // The same elements under another shape; not differentiable (see ops/reshape.h).
  Tensor view(const Shape& shape) const;
  // Rows [begin, end) of the leading dimension; not differentiable.
  Tensor slice(std::int64_t begin, std::int64_t end) const;
  // The same memory, unknown to the tape. Closures capture this.
  Tensor detach() const;
  // A copy in memory of its own, on the same device.
  Tensor clone() const;
  // The same elements on `device`: itself if they are there already, else a copy, which this waits for.
  Tensor to(Device device) const;
  // Takes the elements of `other`, of the same number and dtype, from any device. Waits where one side is the CPU.
  void copy_from(const Tensor& other);

  // Autograd's handle (core/autograd.h): where the gradient of this tensor gathers; null if none is wanted.
  GradNode* node() const { return node_; }
  std::uint64_t node_generation() const { return generation_; }
  void set_node(GradNode* node, std::uint64_t generation) {
    node_ = node;
    generation_ = generation;
  }

 private:
  static Tensor copy_of(const void* values, std::int64_t count, const Shape& shape, DType dtype, Device device);
  void read_item(void* value, DType dtype) const;

  Storage storage_;
  std::int64_t offset_ = 0;  // in bytes
  Shape shape_;
  DType dtype_ = DType::f32;
  GradNode* node_ = nullptr;
  std::uint64_t generation_ = 0;
};

}  // namespace lockring
