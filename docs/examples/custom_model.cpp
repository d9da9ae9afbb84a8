// A model of one's own, trained on two replicas: which quarter of an image is bright?
#include "apps/evaluation.h"
#include "apps/train/trainer.h"
#include "nn/conv2d.h"
#include "nn/layers.h"
#include "nn/linear.h"
#include "nn/sequential.h"

#include <cstdio>

using namespace lockring;

int main() {
  Tensor images = Tensor::zeros({512, 8, 8, 1}, DType::u8), labels = Tensor::empty({512}, DType::u8);
  for (int i = 0; i < 512; ++i) {
    labels.data<std::uint8_t>()[i] = i % 4;
    for (int row = 0; row < 8; ++row) images.data<std::uint8_t>()[i * 64 + row * 8 + i % 4 * 2 + i / 4 % 2] = 200;
  }
  const data::Split split{data::in_memory(images), labels};
  const auto build = [] {
    auto model = std::make_unique<nn::Sequential>();
    model->add<nn::ConvReluPool>("conv", 1, 16, 3).add<nn::Flatten>("flatten").add<nn::Linear>("dense", 3 * 3 * 16, 4);
    return model;
  };
  const data::Transform transform;
  app::Trainer trainer({.build = build, .replicas = 2, .micro_batch = 8, .optimizer = {.name = "adam"}}, split,
                       transform);
  for (int step = 0; step < 200; ++step) {
    const auto order = data::epoch_order(data::all_samples(512), 1, step / 8);
    trainer.step(std::span(order).subspan(step % 8 * 64, 64), step / 8, step, 0.01);
  }
  const auto result = app::evaluate(trainer.team(), trainer.averaged(), split, data::all_samples(512), transform);
  std::printf("accuracy %.3f\n", result.accuracy());
  return result.accuracy() > 0.99 ? 0 : 1;
}
