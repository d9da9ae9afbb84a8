// What the figures of `lockring bench` share: the clock, the data and the way they are printed.
#pragma once

#include "core/stopwatch.h"
#include "data/dataset.h"
#include "models/models.h"

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace lockring::app {

// The value below which `share` of the values lie.
double quantile(std::vector<double> values, double share);
double sum(std::span<const double> values);

// Calls f until `seconds` have passed, at least `least` times; the time of each call.
template <class F>
std::vector<double> time_calls(double seconds, int least, F f) {
  std::vector<double> times;
  times.reserve(1 << 16);
  const auto start = std::chrono::steady_clock::now();
  do {
    const auto call = std::chrono::steady_clock::now();
    f();
    times.push_back(seconds_since(call));
  } while (static_cast<int>(times.size()) < least || seconds_since(start) < seconds);
  return times;
}

// Random bytes in the shape of the home data set: speed does not depend on what the images show.
data::Split random_split(std::int64_t size, const models::ImageSpec& images);

// Named figures, as one JSON object in a line or as a table.
using Figure = std::pair<std::string, std::variant<std::string, double, std::int64_t>>;
void print_figures(const std::vector<Figure>& figures, bool json);

}  // namespace lockring::app
