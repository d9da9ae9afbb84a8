#include "models/models.h"
#include "models/plane.h"
#include "nn/layers.h"
#include "nn/linear.h"
#include "nn/sequential.h"

namespace lockring::models {

std::unique_ptr<nn::Module> mlp(const ImageSpec& images) {
  const std::int64_t pixels = Plane(images).places();
  auto model = std::make_unique<nn::Sequential>();
  model->add<nn::Flatten>("flatten")
      .add<nn::Linear>("dense1", pixels * images.channels, 512, Activation::relu)
      .add<nn::Dropout>("dropout", 0.2F)
      .add<nn::Linear>("dense2", 512, images.classes);
  return model;
}

}  // namespace lockring::models
