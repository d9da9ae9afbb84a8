#include "apps/bench_support.h"

#include "apps/terminal.h"
#include "core/rng.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <numeric>

namespace lockring::app {

double quantile(std::vector<double> values, double share) {
  std::ranges::sort(values);
  return values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1))];
}

double sum(std::span<const double> values) { return std::accumulate(values.begin(), values.end(), 0.0); }

data::Split random_split(std::int64_t size, const models::ImageSpec& images) {
  Tensor pixels = Tensor::empty({size, images.height, images.width, images.channels}, DType::u8);
  Tensor labels = Tensor::empty({size}, DType::u8);
  Rng rng(1, RngStream::test);
  for (std::uint8_t& pixel : pixels.values<std::uint8_t>()) pixel = static_cast<std::uint8_t>(rng.next_u32());
  for (std::uint8_t& label : labels.values<std::uint8_t>())
    label = static_cast<std::uint8_t>(rng.below(images.classes));
  return {data::in_memory(pixels), labels};
}

void print_figures(const std::vector<Figure>& figures, bool json) {
  nlohmann::ordered_json object;
  for (const auto& [name, value] : figures) std::visit([&](const auto& v) { object[name] = v; }, value);
  if (json) return print("{}\n", object.dump());
  for (const auto& [name, value] : object.items())
    print("{:<22}{}\n", name, value.is_string() ? value.get<std::string>() : value.dump());
}

}  // namespace lockring::app
