#include "models/models.h"

#include "core/error.h"
#include "core/text.h"
#include "nn/model.h"
#include "ops/count.h"

#include <algorithm>
#include <string>
#include <vector>

namespace lockring::models {
namespace {

constexpr Architecture kArchitectures[] = {
    {"mlp", "two dense layers: the fastest, a baseline", mlp, 0},
    {"cnn", "three convolutions and two dense layers: the everyday model", cnn, 16},
    {"cnn_bn", "cnn with batch normalisation: learns in fewer epochs", cnn_bn, 32},
    {"cnn_dropout", "cnn with dropout before its dense layers: overfits later", cnn_dropout, 16},
    {"lenet", "LeNet-5 with ReLU and max pooling: small", lenet, 32},
    {"resnet", "a small residual network: accurate within a minute", resnet, 32},
    {"resnet_wide", "resnet of twice the width: accurate within ten minutes", resnet_wide, 32},
    {"resnet_deep", "resnet_wide with blocks before it pools: the most accurate", resnet_deep, 32},
};

struct Counts {
  std::int64_t all = 0;
  std::int64_t first = 0;
};

// The ops count as they run, on one image of zeros.
Counts count(const Architecture& architecture, const ImageSpec& images) {
  const nn::Model model(architecture.build(images), 0);
  const NoGrad no_grad;
  const std::int64_t before = ops::multiply_adds_so_far();
  Counts counts;
  const nn::ForwardObserver observer = [&](const std::string&, const Tensor&) {
    if (counts.first == 0) counts.first = ops::multiply_adds_so_far() - before;
  };
  model.forward(Tensor::zeros({1, images.height, images.width, images.channels}), {.observer = &observer});
  counts.all = ops::multiply_adds_so_far() - before;
  return counts;
}

}  // namespace

std::span<const Architecture> architectures() { return kArchitectures; }

const Architecture& find_architecture(std::string_view name) {
  const auto* found = std::ranges::find(kArchitectures, name, &Architecture::name);
  if (found != std::end(kArchitectures)) return *found;
  std::vector<std::string> names;
  for (const Architecture& architecture : kArchitectures) names.emplace_back(architecture.name);
  fail(ErrorCode::usage, "there is no model '{}'{}; there are {}", name, did_you_mean(name, names), joined(names));
}

std::int64_t multiply_adds(const Architecture& architecture, const ImageSpec& images) {
  return count(architecture, images).all;
}

std::int64_t first_layer_multiply_adds(const Architecture& architecture, const ImageSpec& images) {
  return count(architecture, images).first;
}

}  // namespace lockring::models
