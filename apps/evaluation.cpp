#include "apps/evaluation.h"

#include "ops/argmax.h"
#include "ops/cross_entropy.h"

#include <algorithm>

namespace lockring::app {
namespace {

// Samples that a thread evaluates at once; sums are taken chunk by chunk, in order.
constexpr std::int64_t kChunk = 64;

struct Chunks {
  const nn::Model& model;
  const data::Split& split;
  std::span<const std::uint32_t> samples;
  const data::Transform& transform;
  std::vector<double> losses;
  std::vector<std::int32_t> predictions;
  std::int64_t classes = 0;

  void evaluate(std::int64_t chunk) {
    const std::int64_t begin = chunk * kChunk;
    const std::int64_t count = std::min(kChunk, static_cast<std::int64_t>(samples.size()) - begin);
    const NoGrad no_grad;
    Tensor images = Tensor::empty(split.images.shape().with_leading(count));
    Tensor labels = Tensor::empty({count}, DType::i32);
    transform.fill_batch(split, samples.subspan(begin, count), 0, 0, false, images.data(), labels.data<std::int32_t>());
    const Tensor logits = model.forward(images);
    losses[chunk] = ops::cross_entropy(logits, labels).item();
    const Tensor predicted = ops::argmax(logits);
    std::ranges::copy(predicted.values<std::int32_t>(), predictions.begin() + begin);
    if (chunk == 0) classes = logits.size(1);
  }
};

void count(Evaluation& result, const data::Split& split, std::span<const std::uint32_t> samples) {
  result.confusion.assign(result.classes * result.classes, 0);
  const std::span labels = split.labels.values<std::uint8_t>();
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const std::int64_t label = labels[samples[i]];
    const std::int64_t predicted = result.predictions[i];
    if (predicted < 0) continue;
    result.correct += predicted == label;
    ++result.confusion[label * result.classes + predicted];
  }
}

}  // namespace

Evaluation evaluate(dist::ReplicaTeam& team, const nn::Model& model, const data::Split& split,
                    std::span<const std::uint32_t> samples, const data::Transform& transform) {
  const auto count_of = static_cast<std::int64_t>(samples.size());
  const std::int64_t chunk_count = (count_of + kChunk - 1) / kChunk;
  Chunks chunks{model, split, samples, transform, {}, {}};
  chunks.losses.resize(chunk_count);
  chunks.predictions.resize(samples.size());
  team.run([&](int replica) {
    for (std::int64_t chunk = replica; chunk < chunk_count; chunk += team.size()) chunks.evaluate(chunk);
  });
  Evaluation result;
  result.count = count_of;
  result.classes = chunks.classes;
  for (const double loss : chunks.losses) result.loss += loss;
  if (count_of > 0) result.loss /= static_cast<double>(count_of);
  result.predictions = std::move(chunks.predictions);
  count(result, split, samples);
  return result;
}

}  // namespace lockring::app
