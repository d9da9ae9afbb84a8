// Workflow files. Texts that are written down as YAML come back as they were.
#include "apps/workflow/builtin.h"
#include "apps/workflow/graph.h"
#include "apps/workflow/spec.h"
#include "apps/workflow/yaml_text.h"

#include "tests/fuzz/fuzz.h"

#include <nlohmann/json.hpp>

#include <string>

namespace lockring::app::workflow {

// Commands of the program are not of the reader: here any will do, with any options.
const Builtin& find_builtin(std::string_view) {
  static const Builtin any{.uses = "any"};
  return any;
}
void complete_builtin(StepSpec&, const std::string&) {}

}  // namespace lockring::app::workflow

namespace lockring::fuzz {
namespace {

using namespace app::workflow;

void read_workflow_text(const std::string& text) {
  const Workflow workflow = parse_workflow(text, "w.yaml");
  expect(!workflow.steps.empty(), "a workflow has steps");
  const Graph graph = make_graph(workflow);
  for (const StepSpec& step : workflow.steps) {
    expect(step.place.line >= 1 && step.place.column >= 1, "places count from 1");
    expect(&workflow.steps[static_cast<std::size_t>(workflow.find(step.name))] == &step, "names are unique");
    if (step.when) step.when->holds([](const Reference& reference) { return std::vector{reference.name}; });
    if (!step.script.parts.empty())
      fill_for_shell(step.script, [](const Reference& reference) { return std::vector{reference.text()}; });
  }
  expect(graph.before.size() == workflow.steps.size(), "every step is in the graph");
}

void write_and_read(const std::string& text) {
  const nlohmann::json json = {{"text", text}};
  std::string dumped;
  try {
    dumped = json.dump();
  } catch (const nlohmann::json::exception&) {
    return;  // no UTF-8
  }
  const YamlNode node = parse_yaml(yaml_text(dumped), "again");
  expect(node.find("text") != nullptr && node.find("text")->text == text, "a text comes back");
}

}  // namespace
}  // namespace lockring::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace lockring;
  const std::string text(fuzz::text_of(bytes, size));
  fuzz::read_or_refuse(ErrorCode::data, [&] { fuzz::read_workflow_text(text); });
  fuzz::write_and_read(text);
  return 0;
}
