// Memory of devices other than the CPU, as storages and tensors need it: core/cuda holds the implementation, and
// core/no_cuda.cpp stands for it where there is none.
//
// Everything here is ordered by the calling thread's current stream of the device (core/cuda/stream.h): work that was
// asked for before comes before. Memory that passes from one thread to another must be handed over by synchronize() or
// an event; after that the second thread may use and release it.
// All functions throw Error{device} when the device is not there or fails, naming the call and its place.
#pragma once

#include "core/device.h"
#include "core/reals.h"
#include "core/storage.h"

#include <cstdint>

namespace lockring::device_memory {

// Makes the device the one that this thread's kernels run on. A thread works on one at a time.
void select(Device device);

// Uninitialised, aligned to at least 256 bytes; kept by the allocator when released.
void* allocate(std::int64_t bytes, Device device);
void release(void* block, std::int64_t bytes, Device device) noexcept;

// Waits for the copy unless both sides are the same device.
void copy(void* to, Device to_device, const void* from, Device from_device, std::int64_t bytes);
void clear(void* block, std::int64_t bytes, Device device);  // of any device
void fill(float* block, std::int64_t count, float value, Device device);
// sum[i] += term[i], of the same type.
void add(Reals sum, ConstReals term, std::int64_t count, Device device);

// Returns when all that this thread asked of the device is done; at once for the CPU.
void synchronize(Device device);

// Memory of the CPU that a device reads and writes while the CPU goes on: one side of copy_async.
Storage allocate_pinned(std::int64_t bytes);
// As copy(), without waiting: the CPU's side must be pinned, and left alone until synchronize() or an event.
void copy_async(void* to, Device to_device, const void* from, Device from_device, std::int64_t bytes);

}  // namespace lockring::device_memory
