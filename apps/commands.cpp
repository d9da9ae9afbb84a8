#include "apps/command.h"

namespace lockring::app {

// Each is defined in the file of its name.
Action doctor(CLI::App& app);

std::span<const Command> commands() {
  static const Command table[] = {
      {"doctor", "what this machine offers: processor, caches, libraries, measured peaks", doctor},
  };
  return table;
}

}  // namespace lockring::app
