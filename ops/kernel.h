// How an op finds its kernel: one slot for each backend, filled where the op is defined.
//
//   constexpr Kernel<SoftmaxFn> kSoftmax{"softmax", kernels::cpu::softmax,
//   LOCKRING_CUDA_KERNEL(kernels::cuda::softmax)};
//
// A kernel takes pointers and sizes, never tensors. A missing kernel is a link error; an empty slot an Error that names
// the op. Loops that gain from AVX-512 lie in ops/cpu/simd and are compiled once for each instruction set:
//
//   constexpr Kernel<ReluFn> kRelu{"relu", LOCKRING_SIMD_KERNELS(relu), LOCKRING_CUDA_KERNEL(kernels::cuda::relu)};
#pragma once

#include "core/cpu.h"
#include "core/device.h"
#include "core/device_memory.h"
#include "core/error.h"

// The only backend switches outside the backends' folders.
#ifdef LOCKRING_CUDA
#define LOCKRING_CUDA_KERNEL(function) function
#else
#define LOCKRING_CUDA_KERNEL(function) nullptr
#endif

#ifdef LOCKRING_AVX512
#define LOCKRING_SIMD_KERNELS(function) kernels::cpu::baseline::function, kernels::cpu::avx512::function
#else
#define LOCKRING_SIMD_KERNELS(function) kernels::cpu::baseline::function, kernels::cpu::baseline::function
#endif

// Declares a kernel of ops/cpu/simd in the namespaces that it is compiled for, and its CUDA twin.
#define LOCKRING_DECLARE_SIMD_KERNEL(Function, name) \
  namespace kernels::cpu::baseline {                 \
  Function name;                                     \
  }                                                  \
  namespace kernels::cpu::avx512 {                   \
  Function name;                                     \
  }                                                  \
  namespace kernels::cuda {                          \
  Function name;                                     \
  }

// Declares a kernel that is compiled once, and its CUDA twin.
#define LOCKRING_DECLARE_KERNEL(Function, name) \
  namespace kernels::cpu {                      \
  Function name;                                \
  }                                             \
  namespace kernels::cuda {                     \
  Function name;                                \
  }

namespace lockring {

template <class Function>
class Kernel {
 public:
  constexpr Kernel(const char* name, Function* cpu, Function* cuda) : Kernel(name, cpu, cpu, cuda) {}
  constexpr Kernel(const char* name, Function* baseline, Function* avx512, Function* cuda)
      : name_(name), baseline_(baseline), avx512_(avx512), cuda_(cuda) {}

  // The kernel for a device and the instruction set in use. A GPU becomes the calling thread's current one. Throws
  // Error{device} if there is none.
  Function* on(Device device = {}) const {
    Function* function = cuda_;
    if (device.kind == DeviceKind::cpu) function = active_isa() == Isa::avx512 ? avx512_ : baseline_;
    if (function == nullptr) fail(ErrorCode::device, "{} has no kernel for device {}", name_, to_string(device));
    if (device.kind != DeviceKind::cpu) device_memory::select(device);
    return function;
  }

 private:
  const char* name_;
  Function* baseline_;
  Function* avx512_;
  Function* cuda_;
};

}  // namespace lockring
