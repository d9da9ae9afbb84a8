#include "apps/serve/model.h"

#include "core/autograd.h"
#include "core/error.h"
#include "core/files.h"
#include "ops/softmax.h"

#include <algorithm>
#include <bit>
#include <future>
#include <utility>

namespace lockring::app::serve {

std::shared_ptr<const Model> Model::load(const std::filesystem::path& path, const std::string& digest,
                                         const std::vector<Device>& devices) {
  std::string found = nn::bundle_digest(path);
  check(digest.empty() || found == digest, ErrorCode::data, "{}: expected the SHA-256 {}, found {}", path.string(),
        digest, found);
  LoadedModel loaded = load_model(path, devices[0]);
  // What was hashed is what was read, unless somebody writes into the file.
  check(nn::bundle_digest(path) == found, ErrorCode::data, "{}: changed while it was read", path.string());
  return std::shared_ptr<const Model>(new Model(std::move(loaded), std::move(found), devices));
}

Model::Model(LoadedModel loaded, std::string digest, const std::vector<Device>& devices)
    : loaded_(std::move(loaded)),
      digest_(std::move(digest)),
      rows_at_once_(models::find_architecture(loaded_.info.architecture).micro_batch) {
  for (std::size_t i = 1; i < devices.size(); ++i)
    copies_.push_back(std::make_unique<nn::Model>(
        models::find_architecture(loaded_.info.architecture).build(loaded_.images), *loaded_.model, devices[i]));
}

const nn::Model& Model::next_model() const {
  if (copies_.empty()) return *loaded_.model;
  const std::size_t next = next_.fetch_add(1, std::memory_order_relaxed) % (copies_.size() + 1);
  return next == 0 ? *loaded_.model : *copies_[next - 1];
}

// Of a batch on the CPU: [n, h, w, c], zeros where the model computes more than `rows` images.
Tensor Model::room_for(const nn::Model& model, std::int64_t rows) const {
  const Shape image = sample().shape();
  if (model.device().kind == DeviceKind::cpu) return Tensor::empty(image.with_leading(rows));
  const auto more = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(rows)));
  return Tensor::zeros(image.with_leading(more));
}

void Model::warm_up(std::int64_t rows) const {
  std::vector<std::future<void>> warming;  // a thread leaves its memory to others when it ends
  const auto warm = [&](const nn::Model& model) {
    if (model.device().kind == DeviceKind::cpu) return;
    warming.push_back(std::async(std::launch::async, [this, &model, rows] {
      for (std::int64_t size = 1; size < 2 * rows; size *= 2)
        model.infer(room_for(model, size).to(model.device()), rows_at_once_).to(Device{});
    }));
  };
  warm(*loaded_.model);
  for (const auto& copy : copies_) warm(*copy);
  for (std::future<void>& done : warming) done.get();
}

Tensor Model::sample() const {
  const Shape& image = info().input_shape;
  return loaded_.golden.image.view({1, image[0], image[1], image[2]});
}

void Model::compute(std::span<const Tensor> requests, std::span<Tensor> answers) const {
  const NoGrad no_grad;
  std::int64_t rows = 0;
  for (const Tensor& request : requests) rows += request.size(0);
  const nn::Model& model = next_model();
  Tensor values = room_for(model, rows);
  Tensor logits;
  const std::span<const data::View> views = loaded_.transform.views();
  for (const data::View& view : views) {
    float* next = values.data();
    for (const Tensor& request : requests) {
      loaded_.transform.convert(request, view, next);
      next += request.elements();
    }
    const Tensor seen = model.infer(values.to(model.device()), rows_at_once_).to(Device{});
    if (views.size() == 1) {
      logits = seen;
      break;
    }
    if (!logits.defined()) logits = Tensor::zeros(seen.shape());
    for (std::int64_t i = 0; i < seen.elements(); ++i) logits.data()[i] += view.weight * seen.data()[i];
  }
  const Tensor probabilities = ops::softmax(logits);
  std::int64_t row = 0;
  for (std::size_t i = 0; i < requests.size(); row += requests[i].size(0), ++i)
    std::ranges::copy(probabilities.slice(row, row + requests[i].size(0)).values(), answers[i].data());
}

}  // namespace lockring::app::serve
