// The layout that forward products on the CPU read: [kh][kw][in][out] from OHWI, [in][out] from [out][in].
//
// Layers keep a packed copy and refresh it when the parameters have changed: once a step in training, once at load in
// serving. On other devices there is none.
#pragma once

#include "core/tensor.h"

namespace lockring::ops {

// Writes the packed form of `weight` ([out][...][in]) into `packed`, allocating it if it is undefined.
// Leaves `packed` undefined on a device that reads weights as they are.
void pack_weights(const Tensor& weight, Tensor& packed);

}  // namespace lockring::ops
