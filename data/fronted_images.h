// Images as they come out of a front, computed anew whenever one is asked for: what caches are made from.
#pragma once

#include "data/front.h"
#include "data/image_store.h"
#include "data/stored_images.h"

#include <memory>

namespace lockring::data {

std::shared_ptr<const ImageStore> with_front(std::shared_ptr<const ImageStore> images, const Front& front);
// Throws Error{usage} unless the front makes the images one size.
std::shared_ptr<const ImageStore> with_front(std::shared_ptr<const EncodedImages> images, const Front& front);

}  // namespace lockring::data
