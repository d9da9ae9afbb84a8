// Counts the multiply-adds that this thread's forward ops stand for, as a model's table states them.
#pragma once

#include <cstdint>

namespace lockring::ops {

namespace detail {
inline thread_local std::int64_t multiply_adds = 0;
}

inline void count_multiply_adds(std::int64_t count) { detail::multiply_adds += count; }
inline std::int64_t multiply_adds_so_far() { return detail::multiply_adds; }

}  // namespace lockring::ops
