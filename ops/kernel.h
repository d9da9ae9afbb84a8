// How an op finds its kernel: one slot for each backend, filled where the op is defined.
//
//   constexpr Kernel<ArgmaxFn> kArgmax{"argmax", kernels::cpu::argmax, LOCKRING_CUDA_KERNEL(kernels::cuda::argmax)};
//
// A kernel takes pointers and sizes, never tensors. A missing kernel is a link error; an empty slot an Error that names
// the op. Loops that gain from AVX-512 lie in ops/cpu/simd and are compiled once for each instruction set:
//
//   constexpr Kernel<ReluFn> kRelu{"relu", LOCKRING_SIMD_KERNELS(relu), LOCKRING_CUDA_KERNEL(kernels::cuda::relu)};
//
// A signature with Reals is that of the GPU's kernel, which knows bfloat16 too; the CPU's has float* in their place.
#pragma once

#include "core/cpu.h"
#include "core/device.h"
#include "core/device_memory.h"
#include "core/error.h"
#include "core/reals.h"

#include <type_traits>

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
  OnCpu<Function> name;                              \
  }                                                  \
  namespace kernels::cpu::avx512 {                   \
  OnCpu<Function> name;                              \
  }                                                  \
  namespace kernels::cuda {                          \
  Function name;                                     \
  }

// Declares a kernel that is compiled once, and its CUDA twin.
#define LOCKRING_DECLARE_KERNEL(Function, name) \
  namespace kernels::cpu {                      \
  OnCpu<Function> name;                         \
  }                                             \
  namespace kernels::cuda {                     \
  Function name;                                \
  }

namespace lockring {

// The CPU's form of a kernel's signature, and what calls either form.
template <class T>
struct CpuForm {
  using Type = T;
};
template <>
struct CpuForm<ConstReals> {
  using Type = const float*;
};
template <>
struct CpuForm<Reals> {
  using Type = float*;
};
template <class... Parameters>
struct CpuForm<void(Parameters...)> {
  using Type = void(typename CpuForm<Parameters>::Type...);

  struct Call {
    Type* cpu;
    void (*cuda)(Parameters...);
    void operator()(Parameters... arguments) const { cpu != nullptr ? cpu(arguments...) : cuda(arguments...); }
  };
};
template <class Function>
using OnCpu = typename CpuForm<Function>::Type;

template <class Function>
class Kernel {
 public:
  using CpuFunction = OnCpu<Function>;

  constexpr Kernel(const char* name, CpuFunction* cpu, Function* cuda) : Kernel(name, cpu, cpu, cuda) {}
  constexpr Kernel(const char* name, CpuFunction* baseline, CpuFunction* avx512, Function* cuda)
      : name_(name), baseline_(baseline), avx512_(avx512), cuda_(cuda) {}

  // The kernel for a device and the instruction set in use. A GPU becomes the calling thread's current one. Throws
  // Error{device} if there is none.
  auto on(Device device = {}) const {
    const bool cpu = device.kind == DeviceKind::cpu;
    CpuFunction* here = active_isa() == Isa::avx512 ? avx512_ : baseline_;
    if (cpu ? here == nullptr : cuda_ == nullptr)
      fail(ErrorCode::device, "{} has no kernel for device {}", name_, to_string(device));
    if (!cpu) device_memory::select(device);
    if constexpr (std::is_same_v<CpuFunction, Function>) {
      return cpu ? here : cuda_;
    } else {
      return typename CpuForm<Function>::Call{cpu ? here : nullptr, cuda_};
    }
  }

 private:
  const char* name_;
  CpuFunction* baseline_;
  CpuFunction* avx512_;
  Function* cuda_;
};

}  // namespace lockring
