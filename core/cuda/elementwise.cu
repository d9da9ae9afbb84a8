#include "core/cuda/elementwise.h"

#include "core/cuda/map.h"

namespace lockring::cuda {
namespace {

struct Fill {
  float* block;
  float value;
  LOCKRING_HOST_DEVICE void operator()(std::int64_t i) const { block[i] = value; }
};

struct Add {
  LOCKRING_HOST_DEVICE float operator()(RowColumn, float sum, float term) const { return sum + term; }
};

}  // namespace

void fill(float* block, std::int64_t count, float value) { for_each_index(count, Fill{block, value}); }
void add(Reals sum, ConstReals term, std::int64_t count) { map(count, sum, Add{}, sum, term); }

}  // namespace lockring::cuda
