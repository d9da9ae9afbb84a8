// The architectures by name.
//
// A new one is one file models/<name>.cpp and one row of the table in models/models.cpp.
#pragma once

#include "nn/module.h"

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

namespace lockring::models {

// What a model is built for: images [height][width][channels], and the number of classes that it tells apart.
struct ImageSpec {
  std::int64_t height = 28;
  std::int64_t width = 28;
  std::int64_t channels = 1;
  std::int64_t classes = 10;

  bool operator==(const ImageSpec&) const = default;
};

struct Architecture {
  std::string_view name;
  std::string_view purpose;
  // Throws Error{usage} if the images are too small for it. The result maps [n][height][width][channels] to logits
  // [n][classes].
  std::unique_ptr<nn::Module> (*build)(const ImageSpec& images);
  // Images computed at once in training, so that a step's activations stay in one core's cache; 0 is the whole shard.
  // Fixed here and never taken from the machine: it is part of what makes a run's bits.
  std::int64_t micro_batch;
};

std::span<const Architecture> architectures();
// Throws Error{usage} on an unknown name, suggesting the nearest.
const Architecture& find_architecture(std::string_view name);

// Multiply-adds of one image's forward pass.
std::int64_t multiply_adds(const Architecture& architecture, const ImageSpec& images = {});
// Of these, the multiply-adds of the first layer that has any: its input gradient is never needed.
std::int64_t first_layer_multiply_adds(const Architecture& architecture, const ImageSpec& images = {});

// The rows' builders, one a file.
std::unique_ptr<nn::Module> mlp(const ImageSpec& images);
std::unique_ptr<nn::Module> cnn(const ImageSpec& images);
std::unique_ptr<nn::Module> cnn_bn(const ImageSpec& images);
std::unique_ptr<nn::Module> cnn_dropout(const ImageSpec& images);
std::unique_ptr<nn::Module> lenet(const ImageSpec& images);
std::unique_ptr<nn::Module> resnet(const ImageSpec& images);
std::unique_ptr<nn::Module> resnet_wide(const ImageSpec& images);
std::unique_ptr<nn::Module> resnet_deep(const ImageSpec& images);

}  // namespace lockring::models
