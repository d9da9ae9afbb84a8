#include "ops/prepare_images_kernel.h"

#include "core/cuda/launch.h"
#include "ops/cuda/prepare_images_functor.h"

namespace lockring::kernels::cuda {

using lockring::cuda::for_each_index;

void prepare_images(const ImageSet& set, const ImageDraw* draws, std::int64_t count, float* images,
                    std::int32_t* labels) {
  for_each_index(count * set.height * set.width * set.channels, PrepareImages{set, draws, images});
  for_each_index(count, PrepareLabels{set.labels, draws, labels});
}

}  // namespace lockring::kernels::cuda
