#include "ops/all_finite_kernel.h"

#include "ops/cpu/simd/simd.h"

namespace lockring::kernels::cpu::LOCKRING_ISA {

// Without the sign, the bits of a float order as integers do, and all that is not finite lies at the top.
void all_finite(const float* values, std::int64_t count, std::uint8_t* finite) {
  constexpr std::uint32_t kInfinity = 0x7F800000;
  std::uint32_t largest = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::uint32_t magnitude = __builtin_bit_cast(std::uint32_t, values[i]) & 0x7FFFFFFF;
    largest = magnitude > largest ? magnitude : largest;
  }
  *finite = largest < kInfinity ? 1 : 0;
}

}  // namespace lockring::kernels::cpu::LOCKRING_ISA
