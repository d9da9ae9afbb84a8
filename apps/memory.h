// How much memory this process holds.
#pragma once

#include <cstdint>

namespace lockring::app {

// Of it in RAM now; 0 where the system does not tell.
std::int64_t resident_bytes();
// The most there was at any time.
std::int64_t peak_resident_bytes();

}  // namespace lockring::app
