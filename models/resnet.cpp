#include "models/models.h"
#include "models/plane.h"
#include "nn/batch_norm.h"
#include "nn/conv2d.h"
#include "nn/layers.h"
#include "nn/linear.h"
#include "nn/sequential.h"

namespace lockring::models {
namespace {

void add_conv(nn::Sequential& to, const std::string& name, std::int64_t in, std::int64_t out) {
  to.add<nn::Conv2d>(name + ".conv", in, out, 3, nn::Conv2dLayerOptions{.padding = 1, .bias = false});
}

void add_norm(nn::Sequential& to, const std::string& name, std::int64_t channels) {
  to.add<nn::BatchNorm>(name + ".norm", channels, Activation::relu);
}

void add_conv_norm(nn::Sequential& to, const std::string& name, std::int64_t in, std::int64_t out) {
  add_conv(to, name, in, out);
  add_norm(to, name, out);
}

void add_residual(nn::Sequential& to, const std::string& name, std::int64_t channels) {
  auto body = std::make_unique<nn::Sequential>();
  add_conv_norm(*body, "1", channels, channels);
  add_conv_norm(*body, "2", channels, channels);
  to.add<nn::Residual>(name, std::move(body));
}

// To be put on planes of 14 x 14 with `in` channels: wide blocks there and on 7 x 7, where most of the work is done.
void add_late_blocks(nn::Sequential& model, std::int64_t in, std::int64_t width, const ImageSpec& images) {
  add_conv_norm(model, "widen1", in, width);
  add_residual(model, "block1", width);
  model.add<nn::MaxPool2d>("pool2", 2);
  add_conv_norm(model, "widen2", width, 2 * width);
  add_residual(model, "block2", 2 * width);
  model.add<nn::GlobalMaxPool>("pool3");
  model.add<nn::Linear>("dense", 2 * width, images.classes);
}

// Pools early, even before the first normalisation.
std::unique_ptr<nn::Module> residual_network(const ImageSpec& images, std::int64_t width) {
  Plane(images).pool().pool();
  auto model = std::make_unique<nn::Sequential>();
  add_conv(*model, "stem", images.channels, width);
  model->add<nn::MaxPool2d>("pool1", 2);
  add_norm(*model, "stem", width);
  add_late_blocks(*model, width, 2 * width, images);
  return model;
}

}  // namespace

std::unique_ptr<nn::Module> resnet(const ImageSpec& images) { return residual_network(images, 16); }

std::unique_ptr<nn::Module> resnet_wide(const ImageSpec& images) { return residual_network(images, 32); }

std::unique_ptr<nn::Module> resnet_deep(const ImageSpec& images) {
  constexpr std::int64_t kEarly = 16;
  Plane(images).pool().pool();
  auto model = std::make_unique<nn::Sequential>();
  add_conv_norm(*model, "stem", images.channels, kEarly);
  add_residual(*model, "early1", kEarly);
  add_residual(*model, "early2", kEarly);
  model->add<nn::MaxPool2d>("pool1", 2);
  add_late_blocks(*model, kEarly, 4 * kEarly, images);
  return model;
}

}  // namespace lockring::models
