// How much memory there is, and how much of it this process holds.
#pragma once

#include <cstdint>

namespace lockring::app {

// What this process could still take. The control group's limit counts where it is below what the machine has; what
// the system only caches does not.
std::int64_t available_bytes();
// The machine's, or the control group's limit.
std::int64_t total_bytes();

// Held in RAM now; 0 where the system does not tell.
std::int64_t resident_bytes();
// The most that was at any time.
std::int64_t peak_resident_bytes();

}  // namespace lockring::app
