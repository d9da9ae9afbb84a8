#include "apps/serve/samples.h"

#include "core/error.h"
#include "data/dataset.h"
#include "data/encode_png.h"

#include <nlohmann/json.hpp>

#include <charconv>
#include <set>

namespace lockring::app::serve {
namespace {

constexpr int kOfEachClass = 2;

std::string png_of(const Tensor& image) {
  const std::string png = data::encode_png(image);
  return png;
}

}  // namespace

Samples::Samples(const DataOptions& data, const Repository& repository) : data_(data), repository_(repository) {}

// The first test images of each class of the first model's data.
void Samples::load_dataset() {
  const auto servables = repository_.all();
  if (servables.empty()) return;
  const Description& model = servables.front()->description();
  data::LoadOptions load;
  load.train = false;
  const data::Dataset dataset = data::load_dataset(data_.directory(), data_.dataset, load);
  const Shape& shape = dataset.test.images->shape();
  if (dataset.classes != model.classes || Shape{shape[1], shape[2], shape[3]} != model.image) return;
  std::vector<int> taken(dataset.classes.size());
  const std::span labels = std::as_const(dataset.test.labels).values<std::uint8_t>();
  for (std::int64_t i = 0; i < std::ssize(labels); ++i) {
    const std::size_t label = labels[static_cast<std::size_t>(i)];
    if (taken[label]++ >= kOfEachClass) continue;
    samples_.push_back({png_of(dataset.test.images->copy(i, i + 1).view(model.image)), dataset.classes[label],
                        fmt::format("test image {} of {}", i, dataset.name)});
  }
}

void Samples::load_bundles() {
  std::set<std::string> seen;
  for (const auto& servable : repository_.all()) {
    const auto* endpoint = dynamic_cast<const Endpoint*>(servable.get());
    if (endpoint == nullptr) continue;
    std::string png = png_of(endpoint->model().sample().view(endpoint->description().image));
    if (seen.insert(png).second) samples_.push_back({std::move(png), "", "sample of " + endpoint->description().name});
  }
}

// Without the data set a page is still of use.
void Samples::load() {
  const std::scoped_lock lock(mutex_);
  if (std::exchange(loaded_, true)) return;
  try {
    load_dataset();
  } catch (const Error&) {
    samples_.clear();
  }
  if (samples_.empty()) load_bundles();
}

std::string Samples::list_json() {
  load();
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < samples_.size(); ++i) {
    const Sample& sample = samples_[i];
    list.push_back(
        {{"id", i},
         {"url", fmt::format("/samples/{}.png", i)},
         {"label", sample.label.empty() ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(sample.label)},
         {"source", sample.source}});
  }
  return nlohmann::ordered_json{{"samples", list}}.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

http::Response Samples::picture(const std::string& name) {
  load();
  std::size_t number = 0;
  const auto [rest, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  const bool there =
      error == std::errc() && std::string_view(rest, name.data() + name.size()) == ".png" && number < samples_.size();
  if (!there) throw http::StatusError(404, "there is no such sample");
  http::Response response{.status = 200, .content_type = "image/png", .headers = {}, .body = {}};
  response.headers.push_back({"Cache-Control", "max-age=3600"});
  response.body.emplace_back(samples_[number].png);
  return response;
}

}  // namespace lockring::app::serve
