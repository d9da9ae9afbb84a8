#include "apps/loaded_model.h"

#include "apps/evaluation.h"
#include "core/error.h"
#include "data/class_names.h"

#include <algorithm>
#include <cmath>

namespace lockring::app {
namespace {

constexpr double kGoldenTolerance = 1e-4;

models::ImageSpec image_spec(const nn::BundleInfo& info) {
  const Shape& shape = info.input_shape;
  check(info.input_dtype == DType::u8 && shape.rank() == 3 && !info.classes.empty(), ErrorCode::data,
        "expected a model that tells classes of images of bytes [height, width, channels] apart, found one for {} {} "
        "and {} classes",
        name_of(info.input_dtype), to_string(shape), info.classes.size());
  return {shape[0], shape[1], shape[2], static_cast<std::int64_t>(info.classes.size())};
}

// The front makes images of data sets and files into what the model takes, so its sizes are the model's.
void check_front(const data::Front& front, const Shape& input) {
  check(front.output_shape(input) == input, "the transform '{}' makes images of {}, the model takes {}",
        to_string(front), to_string(front.output_shape(input)), to_string(input));
}

double golden_difference(const LoadedModel& loaded, const nn::GoldenSample& golden) {
  const Tensor logits =
      logits_of(*loaded.model, loaded.transform,
                golden.image.view({1, golden.image.size(0), golden.image.size(1), golden.image.size(2)}));
  double largest = 0;
  double difference = 0;
  for (std::int64_t i = 0; i < logits.elements(); ++i) {
    const double expected = golden.logits.data()[i];
    const double distance = std::abs(logits.data()[i] - expected);
    if (!std::isfinite(distance)) return distance;
    largest = std::max(largest, std::abs(expected));
    difference = std::max(difference, distance);
  }
  return difference == 0 ? 0 : difference / largest;
}

}  // namespace

LoadedModel load_model(const std::filesystem::path& path, Device device) {
  nn::Bundle bundle = nn::load_bundle(path);
  LoadedModel loaded{
      .path = path, .info = std::move(bundle.info), .model = {}, .transform = {}, .images = {}, .golden = {}};
  std::unique_ptr<nn::Module> root;
  std::shared_ptr<const nn::ArenaLayout> layout;
  try {
    loaded.images = image_spec(loaded.info);
    data::check_class_names(loaded.info.classes, "damaged bundle");
    loaded.transform = data::Transform::parse(loaded.info.transform, {loaded.info.mean, loaded.info.deviation});
    check_front(loaded.transform.front(), loaded.info.input_shape);
    loaded.transform.check_fits(loaded.images.height, loaded.images.width, loaded.images.channels);
    root = models::find_architecture(loaded.info.architecture).build(loaded.images);
    layout = std::make_shared<const nn::ArenaLayout>(*root);
  } catch (const Error& error) {
    fail(ErrorCode::data, "{}: {}", path.string(), error.what());
  }
  nn::check_parameters(bundle, *layout);
  nn::Arena parameters(layout);
  nn::load_parameters(bundle, parameters);
  loaded.model = std::make_unique<nn::Model>(std::move(root), std::move(parameters));
  loaded.golden_difference = golden_difference(loaded, bundle.golden);
  check(loaded.golden_difference <= kGoldenTolerance, ErrorCode::data,
        "{}: damaged: its answer to the sample it holds differs by {:.2g} from the recorded one", path.string(),
        loaded.golden_difference);
  if (device.kind != DeviceKind::cpu)
    loaded.model = std::make_unique<nn::Model>(models::find_architecture(loaded.info.architecture).build(loaded.images),
                                               *loaded.model, device);
  loaded.golden = {bundle.golden.image.clone(), bundle.golden.logits.clone()};
  return loaded;
}

void check_suits(const LoadedModel& loaded, const data::Dataset& dataset) {
  const Shape& shape = (dataset.test.images != nullptr ? dataset.test : dataset.train).images->shape();
  const models::ImageSpec found{shape[1], shape[2], shape[3], static_cast<std::int64_t>(dataset.classes.size())};
  const auto text = [](const models::ImageSpec& images) {
    return fmt::format("{} x {} x {} in {} classes", images.height, images.width, images.channels, images.classes);
  };
  check(found == loaded.images, ErrorCode::data, "{} is for images of {}; those of {} are {}", loaded.path.string(),
        text(loaded.images), dataset.name, text(found));
}

}  // namespace lockring::app
