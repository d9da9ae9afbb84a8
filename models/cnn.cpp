#include "models/models.h"
#include "models/plane.h"
#include "nn/conv2d.h"
#include "nn/layers.h"
#include "nn/linear.h"
#include "nn/sequential.h"

namespace lockring::models {

std::unique_ptr<nn::Module> cnn(const ImageSpec& images) {
  const std::int64_t places = Plane(images).conv(3).pool().conv(3).pool().conv(3).places();
  auto model = std::make_unique<nn::Sequential>();
  model->add<nn::ConvReluPool>("conv1", images.channels, 32, 3)
      .add<nn::ConvReluPool>("conv2", 32, 64, 3)
      .add<nn::Conv2d>("conv3", 64, 64, 3, nn::Conv2dLayerOptions{.activation = Activation::relu})
      .add<nn::Flatten>("flatten")
      .add<nn::Linear>("dense1", places * 64, 64, Activation::relu)
      .add<nn::Linear>("dense2", 64, images.classes);
  return model;
}

}  // namespace lockring::models
