// Spans of time as workflows write them.
#pragma once

#include <optional>
#include <string_view>

namespace lockring::app::workflow {

// "250ms", "1.5s", "90s", "30m", "12h" or "14d", in seconds. Nothing if the text is something else, or longer than a
// thousand years.
std::optional<double> parse_duration(std::string_view text);

}  // namespace lockring::app::workflow
