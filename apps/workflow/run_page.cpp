#include "apps/workflow/run_page.h"

#include "apps/select/selection.h"
#include "apps/terminal.h"
#include "apps/workflow/graph.h"
#include "apps/workflow/run_folder.h"
#include "core/error.h"
#include "core/files.h"
#include "core/text.h"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace lockring::app::workflow {
namespace fs = std::filesystem;
namespace {

using Json = nlohmann::ordered_json;

void add_result(Json& results, const std::string& name, const std::string& text) {
  results.push_back({{"name", name}, {"text", text}});
}

// What a training has written of itself (apps/train/summary.h).
bool add_summary(Json& results, const OutputRecord& output) {
  const Json summary = Json::parse(read_file_or_nothing(fs::path(output.location) / "summary.json"), nullptr, false);
  if (!summary.is_object()) return false;
  bool any = false;
  for (const auto& [key, name] : {std::pair("val_accuracy", "validation"), std::pair("test_accuracy", "test")}) {
    if (!summary.contains(key) || !summary[key].is_number()) continue;
    add_result(results, name, fmt::format("{:.4f}", summary[key].get<double>()));
    any = true;
  }
  return any;
}

bool add_selection(Json& results, const OutputRecord& output) {
  if (!output.location.ends_with(".json")) return false;
  try {
    std::vector<std::string> names;
    for (const SelectedModel& model : read_selection(output.location).models) names.push_back(model.name);
    add_result(results, "chosen", joined(names));
    return true;
  } catch (const Error&) {
    return false;
  }
}

Json results_of(const StepStory& step) {
  Json results = Json::array();
  for (const OutputRecord& output : step.outputs) {
    if (output.kind == OutputKind::value)
      add_result(results, output.name, output.value);
    else if (!add_summary(results, output) && !add_selection(results, output))
      results.push_back({{"name", output.name},
                         {"text", fmt::format("{}, {}", output.location, bytes_text(double(output.bytes)))},
                         {"place", true}});
  }
  return results;
}

Json events_of(const std::vector<JournalEntry>& journal, const std::string& step) {
  Json events = Json::array();
  for (const JournalEntry& entry : journal) {
    if (entry.step != step) continue;
    const StepState state = entry.kind == JournalEntry::Kind::start ? StepState::running : entry.state;
    events.push_back(
        {{"time", entry.time}, {"state", name_of(state)}, {"attempt", entry.attempt}, {"message", entry.message}});
  }
  return events;
}

Json step_json(const StepSpec& spec, const StepStory& story) {
  const char* kind = spec.server ? "server" : spec.uses.empty() ? "command" : spec.uses.c_str();
  return {{"name", spec.name},          {"kind", kind},
          {"async", spec.async},        {"state", name_of(story.state)},
          {"attempts", story.attempts}, {"seconds", story.seconds},
          {"message", story.message},   {"results", results_of(story)}};
}

}  // namespace

std::string run_page_json(const fs::path& folder, double now) {
  check(fs::exists(folder / "run.json"), ErrorCode::data, "there is no run in {}", folder.string());
  const RunStory run = read_run({folder.parent_path().parent_path()}, folder.filename().string());
  const std::vector<JournalEntry> journal = read_journal(folder / "journal.jsonl");
  const Workflow workflow = parse_workflow(read_file(folder / "workflow.yaml"), run.facts.file, run.facts.parameters);
  const Graph graph = make_graph(workflow);
  Json steps = Json::array();
  for (std::size_t i = 0; i < workflow.steps.size(); ++i) {
    const StepSpec& spec = workflow.steps[i];
    const StepStory* story = run.find(spec.name);
    Json step = step_json(spec, story == nullptr ? StepStory{} : *story);
    step["needs"] = Json::array();
    for (const int before : graph.before[i])
      step["needs"].push_back(workflow.steps[static_cast<std::size_t>(before)].name);
    step["events"] = events_of(journal, spec.name);
    steps.push_back(std::move(step));
  }
  Json parameters = Json::object();
  for (const auto& [name, value] : run.facts.parameters) parameters[name] = value;
  const Json json = {{"run", run.facts.id},      {"workflow", run.facts.workflow},
                     {"state", run.state},       {"began", run.began},
                     {"ended", run.ended},       {"now", now},
                     {"parameters", parameters}, {"steps", steps}};
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace lockring::app::workflow
