// A tree as YAML text.
#pragma once

#include <string>
#include <string_view>

namespace lockring::app::workflow {

// Of JSON text: blocks, two spaces an indentation, in the order of the keys; words in quotes only where YAML would take
// them for something else.
std::string yaml_text(std::string_view json);

}  // namespace lockring::app::workflow
