#include "apps/terminal.h"

namespace lockring::app {

void print_text(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stdout); }

}  // namespace lockring::app
