// A bundle: one safetensors file that holds a trained model with all that evaluating and serving it needs.
//
// Its tensors are the parameters under their paths, then a golden sample with the model's answer to it. A checkpoint is
// a bundle that also holds what a run needs to continue bit for bit: arenas of training state, as tensors
// "state.<arena>.<parameter>", and texts of the trainer's. Whatever reads bundles reads checkpoints.
#pragma once

#include "nn/arena.h"
#include "nn/bundle_info.h"
#include "nn/safetensors.h"

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace lockring::nn {

// One sample as the data set has it, [info.input_shape] of info.input_dtype, and the logits, [classes], that the model
// answers with: the same bits on the same kernels, nearly the same elsewhere.
struct GoldenSample {
  Tensor image;
  Tensor logits;
};

struct TrainingState {
  std::vector<NamedArena> arenas;
  std::map<std::string, std::string> values;  // "step", "epoch", ...
};

// A bundle's content.
struct Bundle {
  std::filesystem::path path;  // for messages
  BundleInfo info;
  std::vector<NamedTensor> parameters;
  GoldenSample golden;
  // Of a checkpoint, else empty.
  std::vector<NamedTensor> state;  // named "<arena>.<parameter>"
  std::map<std::string, std::string> training;
};

// Write the file whole or not at all: the same for arenas on any device. Throw Error{data} if that fails.
void save_bundle(const std::filesystem::path& path, const BundleInfo& info, const Arena& parameters,
                 const GoldenSample& golden);
void save_checkpoint(const std::filesystem::path& path, const BundleInfo& info, const Arena& parameters,
                     const GoldenSample& golden, const TrainingState& training);

// Throws Error{data}, with the path, on a file that is not a whole bundle.
Bundle load_bundle(const std::filesystem::path& path);

// Throws Error{data} unless the bundle's parameters have exactly the layout's names and shapes: before memory is taken
// for an arena, since a few wrong bytes can ask for any amount.
void check_parameters(const Bundle& bundle, const ArenaLayout& layout);
// Copies the bundle's parameters into an arena, on any device; a model on it must refresh() afterwards. Throws
// Error{data}, and changes nothing, unless names and shapes are exactly the arena's.
void load_parameters(const Bundle& bundle, Arena& parameters);
// The same for a checkpoint's state; `arenas` must be all that it holds.
void load_state(const Bundle& checkpoint, const std::vector<NamedArena>& arenas);

// SHA-256 of the file: equal for equal bundles, wherever they lie.
std::string bundle_digest(const std::filesystem::path& path);

}  // namespace lockring::nn
