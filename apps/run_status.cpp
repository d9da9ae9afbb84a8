#include "apps/run_status.h"

#include <nlohmann/json.hpp>

#include <array>

namespace lockring::app {
namespace {

// By RunState.
constexpr std::array<std::string_view, 5> kNames = {"running", "stopped", "finished", "diverged", "failed"};

}  // namespace

std::string_view name_of(RunState state) { return kNames[static_cast<std::size_t>(state)]; }

std::string status_json(const RunStatus& status) {
  nlohmann::ordered_json json = {{"state", name_of(status.state)}};
  if (!status.message.empty()) json["message"] = status.message;
  // Messages name paths, which are not always UTF-8.
  return json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

std::optional<RunStatus> parse_status(std::string_view text) {
  const nlohmann::json json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object()) return std::nullopt;
  const auto text_of = [&](const char* key) {
    const auto found = json.find(key);
    return found != json.end() && found->is_string() ? found->get<std::string>() : "";
  };
  for (std::size_t i = 0; i < kNames.size(); ++i)
    if (text_of("state") == kNames[i]) return RunStatus{static_cast<RunState>(i), text_of("message")};
  return std::nullopt;
}

}  // namespace lockring::app
