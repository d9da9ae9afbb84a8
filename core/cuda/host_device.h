// LOCKRING_HOST_DEVICE marks what both compilers compile: functors of kernels, which plain C++ can call as well.
#pragma once

#ifdef __CUDACC__
#define LOCKRING_HOST_DEVICE __host__ __device__
#else
#define LOCKRING_HOST_DEVICE
#endif
