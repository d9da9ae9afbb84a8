// Some images of each class of a data set in one picture.
#pragma once

#include "core/tensor.h"
#include "data/stored_dataset.h"

#include <cstdint>

namespace lockring::app {

// u8 [height, width, 3 (or 1, if the images are grey)]: a row for each class, in front of it the label, with up to
// `columns` training images that are spread over all of the class. Images are scaled, keeping their aspect. Throws
// Error{data} if an image cannot be read.
Tensor contact_sheet(const data::StoredDataset& dataset, std::int64_t columns);

}  // namespace lockring::app
