#include "core/tensor.h"

#include "core/device_memory.h"
#include "core/error.h"

#include <algorithm>
#include <cstring>

namespace lockring {
namespace {

void copy(void* to, Device to_device, const void* from, Device from_device, std::int64_t bytes) {
  if (bytes == 0) return;
  if (to_device.kind == DeviceKind::cpu && from_device.kind == DeviceKind::cpu) {
    std::memcpy(to, from, bytes);
  } else {
    device_memory::copy(to, to_device, from, from_device, bytes);
  }
}

}  // namespace

void fail_on_bf16() { fail(ErrorCode::device, "bfloat16 is computed with on GPUs alone"); }

Tensor Tensor::empty(const Shape& shape, DType dtype, Device device) {
  // More than any address space holds; the number of bytes could overflow.
  check(shape.elements() < std::int64_t{1} << 48, ErrorCode::device,
        "out of memory: a tensor of shape {} was asked for", shape);
  return view_of(Storage::allocate(shape.elements() * size_of(dtype), device), 0, shape, dtype);
}

Tensor Tensor::zeros(const Shape& shape, DType dtype, Device device) {
  Tensor tensor = empty(shape, dtype, device);
  if (device.kind != DeviceKind::cpu) {
    device_memory::clear(tensor.raw(), tensor.bytes(), device);
  } else {
    std::memset(tensor.raw(), 0, tensor.bytes());
  }
  return tensor;
}

Tensor Tensor::full(const Shape& shape, float value, Device device) {
  Tensor tensor = empty(shape, DType::f32, device);
  if (device.kind != DeviceKind::cpu) {
    device_memory::fill(tensor.data(), tensor.elements(), value, device);
  } else {
    std::ranges::fill(tensor.values(), value);
  }
  return tensor;
}

Tensor Tensor::copy_of(const void* values, std::int64_t count, const Shape& shape, DType dtype, Device device) {
  check(count == shape.elements(), "a tensor of shape {} needs {} values, not {}", shape, shape.elements(), count);
  Tensor tensor = empty(shape, dtype, device);
  copy(tensor.raw(), device, values, Device{}, tensor.bytes());
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

void Tensor::read_item(void* value, DType dtype) const {
  check(elements() == 1, "a tensor of shape {} is not a single value", shape_);
  assert(dtype == dtype_);
  copy(value, Device{}, raw(), device(), size_of(dtype));
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
  copy(tensor.raw(), device(), raw(), device(), bytes());
  return tensor;
}

Tensor Tensor::to(Device device) const {
  if (!defined() || device == this->device()) return detach();
  Tensor tensor = empty(shape_, dtype_, device);
  tensor.copy_from(*this);
  return tensor;
}

void Tensor::copy_from(const Tensor& other) {
  check(elements() == other.elements() && dtype_ == other.dtype_, "{} {} cannot be copied to {} {}",
        name_of(other.dtype_), other.shape_, name_of(dtype_), shape_);
  copy(raw(), device(), other.raw(), other.device(), bytes());
}

}  // namespace lockring
