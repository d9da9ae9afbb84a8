#include "apps/workflow/duration.h"

#include <charconv>
#include <utility>

namespace lockring::app::workflow {

std::optional<double> parse_duration(std::string_view text) {
  constexpr std::pair<std::string_view, double> kUnits[] = {
      {"ms", 1e-3}, {"s", 1}, {"m", 60}, {"h", 3600}, {"d", 86400}};
  constexpr double kMost = 1000.0 * 365 * 86400;
  double count = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, count, std::chars_format::fixed);
  if (error != std::errc() || count < 0) return std::nullopt;
  for (const auto& [unit, seconds] : kUnits)
    if (std::string_view(rest, end) == unit && count * seconds <= kMost) return count * seconds;
  return std::nullopt;
}

}  // namespace lockring::app::workflow
