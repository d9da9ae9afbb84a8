// What a run saves: bundles of its best parameters, and checkpoints to resume from.
#pragma once

#include "apps/train/options.h"
#include "apps/train/setup.h"
#include "apps/train/state.h"
#include "apps/train/trainer.h"
#include "nn/bundle.h"

#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace lockring::app {

// The options that decide a run's bits, by name; first those that others follow from.
using Recipe = std::vector<std::pair<std::string, std::string>>;
Recipe recipe_of(const TrainOptions& options, const Setup& setup, const Trainer& trainer);
// One line an option.
std::string recipe_text(const Recipe& recipe);

// A bundle of `model`, whose arena may be the parameters or their average.
void save_model(const std::filesystem::path& path, const TrainOptions& options, const Setup& setup,
                const nn::Model& model, const std::map<std::string, double>& metrics);

// All that resuming needs. Throws Error{diverged}, naming step and layer, and keeps the file that is there, if the
// model's answers are no longer finite.
void save_checkpoint(const std::filesystem::path& path, const TrainOptions& options, const Setup& setup,
                     Trainer& trainer, const TrainState& state);

// Puts parameters and optimizer state back. Throws Error{data} on a file that is not a checkpoint of this model, and
// Error{usage} when the options would not continue the run that it is of, naming the first that differs.
TrainState load_checkpoint(const std::filesystem::path& path, const TrainOptions& options, const Setup& setup,
                           Trainer& trainer);

// The parameters of a bundle as the start of a new run.
void load_initial_parameters(const std::filesystem::path& path, Trainer& trainer);

}  // namespace lockring::app
