#include "apps/train/checkpoint.h"

#include "apps/evaluation.h"
#include "apps/program.h"
#include "core/error.h"

#include <optional>

namespace lockring::app {
namespace {

constexpr const char* kRecipePrefix = "recipe.";

nn::BundleInfo bundle_info(const TrainOptions& options, const Setup& setup,
                           const std::map<std::string, double>& metrics) {
  nn::BundleInfo info;
  info.program_version = version();
  info.architecture = options.model;
  info.input_shape = {setup.images.height, setup.images.width, setup.images.channels};
  info.transform = to_string(setup.transform);
  info.mean = setup.dataset.statistics.mean;
  info.deviation = setup.dataset.statistics.deviation;
  info.classes = setup.dataset.classes;
  info.metrics = metrics;
  info.data_digest = setup.dataset.digest;
  info.seed = options.seed;
  return info;
}

// The first training image: u8 [1, h, w, c].
Tensor golden_image(const Setup& setup) { return setup.dataset.train.images->copy(0, 1); }

// The first training image and the model's answer to it.
nn::GoldenSample golden_sample(const Setup& setup, const nn::Model& model) {
  const Tensor image = golden_image(setup);
  const Tensor logits = logits_of(model, setup.transform, image);
  return {image.view({setup.images.height, setup.images.width, setup.images.channels}), logits.view({logits.size(1)})};
}

// Parameters that the last step threw far off show in any answer.
void check_finite(const Setup& setup, const nn::Model& model, std::int64_t step) {
  const Tensor image = golden_image(setup);
  Tensor input = Tensor::empty(image.shape());
  setup.transform.convert(image, {}, input.data());
  const std::string layer = nn::first_bad_layer(model, input, {});
  check(layer.empty(), ErrorCode::diverged,
        "the model's answers are not finite after step {}: first in layer '{}'; a lower --lr may help", step, layer);
}

// The model itself, or a copy of one on a GPU: a bundle's answers are always the CPU's, which every machine can repeat.
class OnCpu {
 public:
  OnCpu(const Setup& setup, const nn::Model& model) : model_(model) {
    if (model.device().kind != DeviceKind::cpu) copy_.emplace(setup.trainer.build(), model, Device{});
  }
  const nn::Model& model() const { return copy_ ? *copy_ : model_; }

 private:
  const nn::Model& model_;
  std::optional<nn::Model> copy_;
};

// What the checkpoint's recipe says of a key. Recipes did not always have all of them: then what had no other value
// holds.
std::string recorded(const nn::Bundle& checkpoint, const std::string& key) {
  static const std::map<std::string, std::string> before{{"precision", "float32"}, {"sync-bn", "false"}};
  if (const auto found = checkpoint.training.find(kRecipePrefix + key); found != checkpoint.training.end())
    return found->second;
  const auto found = before.find(key);
  check(found != before.end(), ErrorCode::data, "{} does not say its --{}", checkpoint.path.string(), key);
  return found->second;
}

void check_recipe(const nn::Bundle& checkpoint, const Recipe& wanted, bool reshard) {
  for (const auto& [key, value] : wanted) {
    if (reshard && key == "shards") continue;
    const std::string had = recorded(checkpoint, key);
    check(had == value, "the run to resume has --{} '{}', not '{}'; its options are in {}", key, had, value,
          (checkpoint.path.parent_path() / "config.toml").string());
  }
}

// Whoever goes on elsewhere than it says would train on other images, at another rate.
void check_position(const std::filesystem::path& path, const TrainState& state, std::int64_t steps_per_epoch) {
  check(state.epoch_step <= steps_per_epoch, ErrorCode::data, "{} is at step {} of an epoch of {}", path.string(),
        state.epoch_step, steps_per_epoch);
  const std::int64_t before = state.step - state.epoch_step;
  check(before % steps_per_epoch == 0 && before / steps_per_epoch == state.epoch, ErrorCode::data,
        "{} is at step {}, which is not step {} after {} epochs of {}", path.string(), state.step, state.epoch_step,
        state.epoch, steps_per_epoch);
}

}  // namespace

Recipe recipe_of(const TrainOptions& options, const Setup& setup, const Trainer& trainer) {
  Recipe recipe = {
      {"model", options.model},
      {"dataset", fmt::format("{} {}", setup.dataset.name, setup.dataset.digest)},
      {"batch-size", fmt::format("{}", options.batch_size)},
      {"optimizer", options.optimizer},
      {"lr", fmt::format("{}", setup.schedule.learning_rate)},
      {"momentum", fmt::format("{}", options.momentum)},
      {"nesterov", fmt::format("{}", options.nesterov)},
      {"schedule", options.schedule},
      {"warmup-steps", fmt::format("{}", setup.schedule.warmup_steps)},
      {"weight-decay", fmt::format("{}", options.weight_decay)},
      {"label-smoothing", fmt::format("{}", options.label_smoothing)},
      {"clip-norm", fmt::format("{}", options.clip_norm)},
      {"ema", fmt::format("{}", options.ema)},
      {"augment", options.augment},
      {"val-fraction", fmt::format("{}", options.val_fraction)},
      {"seed", fmt::format("{}", options.seed)},
      {"precision", options.precision},
      {"sync-bn", fmt::format("{}", options.sync_bn)},
      {"shards", fmt::format("{}", trainer.options().shards)},
      {"micro-batch", fmt::format("{}", trainer.options().micro_batch)},
  };
  // A constant rate goes on as long as one likes; the other schedules are cut to the number of epochs.
  if (options.schedule != "constant") recipe.emplace_back("epochs", fmt::format("{}", options.epochs));
  return recipe;
}

std::string recipe_text(const Recipe& recipe) {
  std::string text;
  for (const auto& [key, value] : recipe) text += fmt::format("{} {}\n", key, value);
  return text;
}

void save_model(const std::filesystem::path& path, const TrainOptions& options, const Setup& setup,
                const nn::Model& model, const std::map<std::string, double>& metrics) {
  const OnCpu saved(setup, model);
  nn::save_bundle(path, bundle_info(options, setup, metrics), saved.model().parameters(),
                  golden_sample(setup, saved.model()));
}

void save_checkpoint(const std::filesystem::path& path, const TrainOptions& options, const Setup& setup,
                     Trainer& trainer, const TrainState& state) {
  const OnCpu saved(setup, trainer.model());
  check_finite(setup, saved.model(), state.step);
  nn::TrainingState training{trainer.optimizer().state(), state.to_text()};
  for (const auto& [key, value] : recipe_of(options, setup, trainer)) training.values[kRecipePrefix + key] = value;
  nn::save_checkpoint(path, bundle_info(options, setup, {}), saved.model().parameters(),
                      golden_sample(setup, saved.model()), training);
}

TrainState load_checkpoint(const std::filesystem::path& path, const TrainOptions& options, const Setup& setup,
                           Trainer& trainer) {
  const nn::Bundle checkpoint = nn::load_bundle(path);
  check(!checkpoint.training.empty(), ErrorCode::data, "{} is a bundle, not a checkpoint to resume from",
        path.string());
  check_recipe(checkpoint, recipe_of(options, setup, trainer), options.reshard);
  const TrainState state = TrainState::from_text(checkpoint.training);
  check_position(path, state, setup.steps_per_epoch);
  nn::load_parameters(checkpoint, trainer.model().parameters());
  nn::load_state(checkpoint, trainer.optimizer().state());
  trainer.refresh();
  return state;
}

void load_initial_parameters(const std::filesystem::path& path, Trainer& trainer) {
  nn::Arena& parameters = trainer.model().parameters();
  nn::load_parameters(nn::load_bundle(path), parameters);
  if (nn::Arena average = trainer.optimizer().ema(); average.defined()) average.buffer().copy_from(parameters.buffer());
  trainer.refresh();
}

}  // namespace lockring::app
