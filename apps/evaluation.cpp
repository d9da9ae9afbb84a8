#include "apps/evaluation.h"

#include "core/device_memory.h"
#include "ops/argmax.h"
#include "ops/cross_entropy.h"

#include <algorithm>

namespace lockring::app {
namespace {

// Samples that a thread evaluates at once; sums are taken chunk by chunk, in order. A GPU needs more to be busy.
std::int64_t chunk_size(const nn::Model& model) { return model.device().kind == DeviceKind::cpu ? 64 : 1024; }

struct Chunks {
  const ModelCopies& models;
  const data::Split& split;
  std::span<const std::uint32_t> samples;
  const data::Transform& transform;
  std::vector<double> losses;
  std::vector<std::int32_t> predictions;
  std::int64_t classes = 0;
  std::int64_t size = chunk_size(*models[0]);

  void evaluate(const nn::Model& model, std::int64_t chunk) {
    const std::int64_t begin = chunk * size;
    const std::int64_t count = std::min(size, static_cast<std::int64_t>(samples.size()) - begin);
    const auto [images, labels] = read(samples.subspan(begin, count));
    const NoGrad no_grad;
    const Tensor logits = logits_of(model, transform, images);
    losses[chunk] = ops::cross_entropy(logits, labels).item();
    const Tensor predicted = ops::argmax(logits);
    std::ranges::copy(predicted.values<std::int32_t>(), predictions.begin() + begin);
    if (chunk == 0) classes = logits.size(1);
  }

  // What a rank has not computed is zero there, so sums are exact.
  void complete(dist::Communicator& all) {
    std::vector<double> values(losses);
    values.insert(values.end(), predictions.begin(), predictions.end());
    values.push_back(static_cast<double>(classes));
    all.all_reduce(std::span<double>(values));
    std::copy_n(values.begin(), losses.size(), losses.begin());
    std::copy_n(values.begin() + std::ssize(losses), predictions.size(), predictions.begin());
    classes = static_cast<std::int64_t>(values.back());
  }

  std::pair<Tensor, Tensor> read(std::span<const std::uint32_t> which) const {
    const std::int64_t bytes = split.images->image_bytes();
    Tensor images = Tensor::empty(split.images->shape().with_leading(std::ssize(which)), DType::u8);
    Tensor labels = Tensor::empty({std::ssize(which)}, DType::i32);
    std::uint8_t* to = images.data<std::uint8_t>();
    for (std::size_t i = 0; i < which.size(); ++i, to += bytes) {
      const std::uint8_t* pixels = split.images->image(which[i], to);
      if (pixels != to) std::copy_n(pixels, bytes, to);
      labels.data<std::int32_t>()[i] = split.labels.data<std::uint8_t>()[which[i]];
    }
    return {images, labels};
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

Tensor logits_of(const nn::Model& model, const data::Transform& transform, const Tensor& images) {
  const NoGrad no_grad;
  Tensor values = Tensor::empty(images.shape());
  if (transform.views().size() == 1) {
    transform.convert(images, transform.views()[0], values.data());
    return model.forward(values.to(model.device())).to(Device{});
  }
  Tensor mean;
  for (const data::View& view : transform.views()) {
    transform.convert(images, view, values.data());
    const Tensor logits = model.forward(values.to(model.device())).to(Device{});
    if (!mean.defined()) mean = Tensor::zeros(logits.shape());
    for (std::int64_t i = 0; i < logits.elements(); ++i) mean.data()[i] += view.weight * logits.data()[i];
  }
  return mean;
}

DeviceCopies::DeviceCopies(const nn::Model& model, std::span<const Device> devices,
                           const std::function<std::unique_ptr<nn::Module>()>& build) {
  for (const Device device : devices) copies_.push_back(std::make_unique<nn::Model>(build(), model, device));
}

ModelCopies DeviceCopies::models() const {
  ModelCopies models;
  for (const std::unique_ptr<nn::Model>& copy : copies_) models.push_back(copy.get());
  return models;
}

Evaluation evaluate(Workers workers, const ModelCopies& models, const data::Split& split,
                    std::span<const std::uint32_t> samples, const data::Transform& transform) {
  const auto count_of = static_cast<std::int64_t>(samples.size());
  Chunks chunks{models, split, samples, transform, {}, {}};
  const std::int64_t chunk_count = (count_of + chunks.size - 1) / chunks.size;
  chunks.losses.resize(chunk_count);
  chunks.predictions.resize(samples.size());
  // What this thread has asked of them; the others read the parameters.
  for (const nn::Model* model : models) device_memory::synchronize(model->device());
  workers.team.run([&](int replica) {
    const nn::Model& model = *models[static_cast<std::size_t>(replica) % models.size()];
    for (std::int64_t chunk = workers.first + replica; chunk < chunk_count; chunk += workers.total)
      chunks.evaluate(model, chunk);
  });
  if (workers.all != nullptr && workers.all->size() > 1) chunks.complete(*workers.all);
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
