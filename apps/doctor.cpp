#include "apps/command.h"
#include "apps/terminal.h"
#include "core/cpu.h"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <memory>

namespace lockring::app {

Action doctor(CLI::App& app) {
  auto json = std::make_shared<bool>(false);
  app.add_flag("--json", *json, "print one JSON object");
  app.footer("Example:\n  lockring doctor --json");
  return [json] {
    const nlohmann::ordered_json report = {
        {"cpu", cpu_name()}, {"instruction_set", to_string(active_isa())}, {"usable_cores", usable_cores()}};
    if (*json) {
      print("{}\n", report.dump(2));
      return 0;
    }
    for (const auto& [key, value] : report.items()) print("{:<16} {}\n", key, value.dump());
    return 0;
  };
}

}  // namespace lockring::app
