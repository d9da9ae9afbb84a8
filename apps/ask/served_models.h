// Models that a server has, and what they say about images.
#pragma once

#include "apps/ask/asked_server.h"
#include "core/tensor.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace lockring::app {

struct ServedModel {
  std::string name;
  std::string what;  // its architecture, or "mean of a, b"
  bool is_ensemble = false;
  std::optional<double> validated;  // its recorded accuracy on validation images
  std::string input;                // the tensor that takes images
  std::array<std::int64_t, 3> image{};
  std::vector<std::string> classes;
};

// By GET /status and the models' metadata; an ensemble last. Throws Error{device} if the server is no `lockring serve`,
// or serves nothing.
std::vector<ServedModel> served_models(const AskedServer& server);

// Of u8 images [n][height][width][channels]: probabilities f32 [n][classes], asked for by Open Inference Protocol v2.
// Throws Error{device} if the answer is not that.
Tensor ask(const AskedServer& server, const ServedModel& model, const Tensor& images);

}  // namespace lockring::app
