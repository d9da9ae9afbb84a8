#include "core/tensor.h"

#include "core/error.h"

#include <algorithm>
#include <cstring>

namespace lockring {

Tensor Tensor::empty(const Shape& shape, DType dtype, Device device) {
  // More than any address space holds; the number of bytes could overflow.
  check(shape.elements() < std::int64_t{1} << 48, ErrorCode::device,
        "out of memory: a tensor of shape {} was asked for", shape);
  return view_of(Storage::allocate(shape.elements() * size_of(dtype), device), 0, shape, dtype);
}

Tensor Tensor::zeros(const Shape& shape, DType dtype, Device device) {
  Tensor tensor = empty(shape, dtype, device);
  std::memset(tensor.raw(), 0, tensor.bytes());
  return tensor;
}

Tensor Tensor::full(const Shape& shape, float value) {
  Tensor tensor = empty(shape);
  std::ranges::fill(tensor.values(), value);
  return tensor;
}

Tensor Tensor::copy_of(const void* values, std::int64_t count, const Shape& shape, DType dtype) {
  check(count == shape.elements(), "a tensor of shape {} needs {} values, not {}", shape, shape.elements(), count);
  Tensor tensor = empty(shape, dtype);
  if (count > 0) std::memcpy(tensor.raw(), values, tensor.bytes());
  return tensor;
}

Tensor Tensor::view_of(Storage storage, std::int64_t offset, const Shape& shape, DType dtype) {
  assert(offset >= 0 && offset + shape.elements() * size_of(dtype) <= storage.bytes());
  Tensor tensor;
  tensor.storage_ = std::move(storage);
  tensor.offset_ = offset;
  tensor.shape_ = shape;
  tensor.dtype_ = dtype;
  return tensor;
}

float Tensor::item() const {
  check(elements() == 1, "a tensor of shape {} is not a single value", shape_);
  return data()[0];
}

Tensor Tensor::view(const Shape& shape) const {
  check(shape.elements() == elements(), "a tensor of shape {} cannot be seen as {}", shape_, shape);
  return view_of(storage_, offset_, shape, dtype_);
}

Tensor Tensor::slice(std::int64_t begin, std::int64_t end) const {
  check(rank() > 0 && 0 <= begin && begin <= end && end <= size(0), "rows {} to {} are not in a tensor of shape {}",
        begin, end, shape_);
  const std::int64_t row_bytes = size(0) == 0 ? 0 : bytes() / size(0);
  return view_of(storage_, offset_ + begin * row_bytes, shape_.with_leading(end - begin), dtype_);
}

Tensor Tensor::detach() const {
  Tensor tensor = *this;
  tensor.node_ = nullptr;
  tensor.generation_ = 0;
  return tensor;
}

Tensor Tensor::clone() const {
  Tensor tensor = empty(shape_, dtype_, device());
  if (bytes() > 0) std::memcpy(tensor.raw(), raw(), bytes());
  return tensor;
}

}  // namespace lockring
