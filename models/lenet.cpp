#include "models/models.h"
#include "models/plane.h"
#include "nn/conv2d.h"
#include "nn/layers.h"
#include "nn/linear.h"
#include "nn/sequential.h"

namespace lockring::models {

// LeCun et al., "Gradient-Based Learning Applied to Document Recognition", 1998, with ReLU and max pooling.
std::unique_ptr<nn::Module> lenet(const ImageSpec& images) {
  const std::int64_t places = Plane(images).conv(5, 2).pool().conv(5).pool().places();
  auto model = std::make_unique<nn::Sequential>();
  model->add<nn::ConvReluPool>("conv1", images.channels, 6, 5, 2)
      .add<nn::ConvReluPool>("conv2", 6, 16, 5)
      .add<nn::Flatten>("flatten")
      .add<nn::Linear>("dense1", places * 16, 120, Activation::relu)
      .add<nn::Linear>("dense2", 120, 84, Activation::relu)
      .add<nn::Linear>("dense3", 84, images.classes);
  return model;
}

}  // namespace lockring::models
