#include "apps/workflow/story_text.h"

#include "apps/terminal.h"
#include "apps/text_table.h"
#include "core/text.h"

#include <fmt/chrono.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <ctime>

namespace lockring::app::workflow {
namespace {

using Json = nlohmann::ordered_json;

std::string dump(const Json& json) { return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n"; }

std::string local_time(double seconds) {
  if (seconds <= 0) return "-";
  return fmt::format("{:%Y-%m-%d %H:%M:%S}", fmt::localtime(static_cast<std::time_t>(seconds)));
}

Json utc_time(double seconds) {
  if (seconds <= 0) return nullptr;
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(static_cast<std::time_t>(seconds)));
}

std::string duration_of(const RunStory& run) { return run.ended > 0 ? duration_text(run.ended - run.began) : "-"; }

// "12 succeeded, 3 cached"
std::string counts(const RunStory& run) {
  std::vector<std::string> parts;
  for (int state = 0; state <= static_cast<int>(StepState::stopped); ++state) {
    const auto count = std::ranges::count_if(
        run.steps, [&](const auto& step) { return static_cast<int>(step.second.state) == state; });
    if (count > 0) parts.push_back(fmt::format("{} {}", count, name_of(static_cast<StepState>(state))));
  }
  return parts.empty() ? "-" : joined(parts);
}

Json step_json(const std::string& name, const StepStory& step) {
  Json outputs = Json::object();
  for (const OutputRecord& output : step.outputs)
    outputs[output.name] = output.kind == OutputKind::value ? output.value : output.location;
  return {{"step", name},
          {"state", name_of(step.state)},
          {"attempts", step.attempts},
          {"started_utc", utc_time(step.started)},
          {"ended_utc", utc_time(step.ended)},
          {"seconds", step.seconds},
          {"code", step.code},
          {"message", step.message},
          {"key", step.key},
          {"outputs", outputs}};
}

Json facts_json(const RunStory& run) {
  Json parameters = Json::object();
  for (const auto& [name, value] : run.facts.parameters) parameters[name] = value;
  return {{"run", run.facts.id},     {"workflow", run.facts.workflow},   {"file", run.facts.file},
          {"state", run.state},      {"began_utc", utc_time(run.began)}, {"ended_utc", utc_time(run.ended)},
          {"parameters", parameters}};
}

}  // namespace

std::string plan_text(const std::vector<PlannedStep>& plan) {
  std::vector<std::vector<std::string>> rows = {{"step", "", "why"}};
  for (const PlannedStep& step : plan) rows.push_back({step.step, step.verdict, step.reason});
  return text_table(rows, {Align::left, Align::left, Align::left});
}

std::string plan_json(const std::vector<PlannedStep>& plan) {
  Json json = Json::array();
  for (const PlannedStep& step : plan)
    json.push_back({{"step", step.step}, {"verdict", step.verdict}, {"reason", step.reason}, {"key", step.key}});
  return dump(json);
}

std::string runs_text(const std::vector<RunStory>& runs) {
  std::vector<std::vector<std::string>> rows = {{"run", "state", "began", "took", "steps"}};
  for (const RunStory& run : runs)
    rows.push_back({run.facts.id, run.state, local_time(run.began), duration_of(run), counts(run)});
  return text_table(rows, {Align::left, Align::left, Align::left, Align::right, Align::left});
}

std::string runs_json(const std::vector<RunStory>& runs) {
  Json json = Json::array();
  for (const RunStory& run : runs) json.push_back(facts_json(run));
  return dump(json);
}

std::string run_text(const RunStory& run) {
  std::string text = fmt::format("{}: {}, of {}\n", run.facts.id, run.state, printable(run.facts.file));
  text += fmt::format("  began {}, took {}\n", local_time(run.began), duration_of(run));
  for (const auto& [name, value] : run.facts.parameters) text += fmt::format("  {} = {}\n", name, printable(value));
  std::vector<std::vector<std::string>> rows = {{"step", "state", "attempts", "took", ""}};
  for (const auto& [name, step] : run.steps)
    rows.push_back({name, std::string(name_of(step.state)), std::to_string(step.attempts),
                    step.seconds > 0 ? duration_text(step.seconds) : "-", step.message});
  text += "\n" + text_table(rows, {Align::left, Align::left, Align::right, Align::right, Align::left});
  std::vector<std::vector<std::string>> outputs;
  for (const auto& [name, step] : run.steps)
    for (const OutputRecord& output : step.outputs)
      outputs.push_back({name + "." + output.name, output.kind == OutputKind::value ? output.value : output.location});
  if (!outputs.empty()) text += "\noutputs\n" + text_table(outputs, {Align::left, Align::left});
  return text;
}

std::string run_json(const RunStory& run) {
  Json json = facts_json(run);
  json["steps"] = Json::array();
  for (const auto& [name, step] : run.steps) json["steps"].push_back(step_json(name, step));
  return dump(json);
}

}  // namespace lockring::app::workflow
