// What the processor and its memory can do at most: the yardsticks that measured speeds are compared with.
#pragma once

namespace lockring {

// Both throw Error{device} if the system refuses so many threads.

// Float32 fused multiply-adds in registers, two operations each, with the widest vectors of active_isa(), on `threads`
// threads at once: 10^9 operations a second of all together, the best of several short runs (about 50 ms in all).
double measure_fma_gflops(int threads);

// STREAM's triad a = b + s * c (McCalpin, "Memory bandwidth and machine balance", 1995) over arrays larger than the
// caches, on `threads` threads at once: 10^9 bytes read and written a second of all together, the best of several runs.
double measure_memory_gbs(int threads);

}  // namespace lockring
