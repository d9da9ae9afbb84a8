#include "core/cuda/elementwise.h"

#include "core/cuda/host_device.h"
#include "core/cuda/launch.h"

namespace lockring::cuda {
namespace {

struct Fill {
  float* block;
  float value;
  LOCKRING_HOST_DEVICE void operator()(std::int64_t i) const { block[i] = value; }
};

struct Add {
  float* sum;
  const float* term;
  LOCKRING_HOST_DEVICE void operator()(std::int64_t i) const { sum[i] += term[i]; }
};

}  // namespace

void fill(float* block, std::int64_t count, float value) { for_each_index(count, Fill{block, value}); }
void add(float* sum, const float* term, std::int64_t count) { for_each_index(count, Add{sum, term}); }

}  // namespace lockring::cuda
