#include "apps/command.h"

namespace lockring::app {

// Each is defined in the file of its first word.
Action data_info(CLI::App& app);
Action data_ingest(CLI::App& app);
Action data_verify(CLI::App& app);
Action doctor(CLI::App& app);

std::span<const Command> commands() {
  static const Command table[] = {
      {"data ingest", "find, check and store a data set", data_ingest},
      {"data info", "what is stored of a data set", data_info},
      {"data verify", "check every byte of a stored data set", data_verify},
      {"doctor", "what this machine offers: processor, caches, libraries, measured peaks", doctor},
  };
  return table;
}

}  // namespace lockring::app
