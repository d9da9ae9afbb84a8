#include "apps/sparkline.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string_view>
#include <vector>

namespace lockring::app {
namespace {

constexpr std::array<std::string_view, 8> kBlocks = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
constexpr std::array<std::string_view, 10> kDigits = {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"};

// Neighbours together, so that `columns` remain.
std::vector<double> thinned(std::span<const double> values, std::size_t columns) {
  if (values.size() <= columns) return {values.begin(), values.end()};
  std::vector<double> means;
  for (std::size_t i = 0; i < columns; ++i) {
    const std::size_t begin = i * values.size() / columns;
    const std::size_t end = (i + 1) * values.size() / columns;
    double sum = 0;
    for (std::size_t at = begin; at < end; ++at) sum += values[at];
    means.push_back(sum / static_cast<double>(end - begin));
  }
  return means;
}

}  // namespace

std::string sparkline(std::span<const double> values, std::size_t columns, bool utf8) {
  const std::span<const std::string_view> levels = utf8 ? std::span<const std::string_view>(kBlocks) : kDigits;
  const std::vector<double> heights = thinned(values, columns);
  double least = std::numeric_limits<double>::infinity();
  double most = -least;
  for (const double height : heights) {
    if (!std::isfinite(height)) continue;
    least = std::min(least, height);
    most = std::max(most, height);
  }
  std::string text;
  for (const double height : heights) {
    const double place = most > least ? (height - least) / (most - least) : 0.5;
    const double level = std::min(place * static_cast<double>(levels.size()), static_cast<double>(levels.size() - 1));
    text += std::isfinite(height) ? levels[static_cast<std::size_t>(level)] : "?";
  }
  return text;
}

}  // namespace lockring::app
