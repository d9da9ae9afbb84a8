// Text as one word of a shell's command line.
#pragma once

#include <string>
#include <string_view>

namespace lockring::app {

// As it is where a shell would take it so, else in single quotes.
std::string shell_word(std::string_view text);

}  // namespace lockring::app
