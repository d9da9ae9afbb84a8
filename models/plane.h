// The size of an image's plane on its way through a model, for the dense layer behind it.
#pragma once

#include "core/error.h"
#include "models/models.h"

namespace lockring::models {

struct Plane {
  std::int64_t height;
  std::int64_t width;

  // Throws Error{usage} on images of no size, no channels or no classes.
  explicit Plane(const ImageSpec& images) : height(images.height), width(images.width) {
    check(images.channels > 0 && images.classes > 0, "images of {} channels and {} classes are not possible",
          images.channels, images.classes);
    checked();
  }

  // After a convolution of stride 1. Throws Error{usage} when nothing is left.
  Plane& conv(std::int64_t kernel, std::int64_t padding = 0) {
    height += 2 * padding - kernel + 1;
    width += 2 * padding - kernel + 1;
    return checked();
  }
  // After 2 x 2 pooling.
  Plane& pool() {
    height /= 2;
    width /= 2;
    return checked();
  }
  std::int64_t places() const { return height * width; }

 private:
  Plane& checked() {
    check(height > 0 && width > 0, "the images are too small for this model");
    return *this;
  }
};

}  // namespace lockring::models
