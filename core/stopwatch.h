// Time that has passed, in seconds; not moved by changes of the system's clock.
#pragma once

#include <chrono>

namespace lockring {

inline double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace lockring
