// What a model gets wrong, to look at.
#pragma once

#include "apps/evaluation.h"
#include "apps/event_record.h"
#include "data/dataset.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace lockring::app {

// A panel of the first images among `samples` that the evaluation of these samples took for another class: below each
// its class, and below that the class it was taken for. None if there are none.
std::optional<PngImage> mistakes_panel(const data::Split& split, std::span<const std::uint32_t> samples,
                                       const Evaluation& evaluation, std::span<const std::string> classes);

}  // namespace lockring::app
