// The key of a step: see StepKey.
#include "apps/workflow/builtin.h"
#include "apps/workflow/content.h"
#include "apps/workflow/graph.h"
#include "apps/workflow/scope.h"
#include "core/error.h"
#include "core/files.h"
#include "core/text.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <set>

namespace lockring::app::workflow {
namespace fs = std::filesystem;
namespace {

bool contains(const std::vector<std::string>& words, const std::string& word) {
  return std::ranges::find(words, word) != words.end();
}

class KeyMaker {
 public:
  KeyMaker(const Workflow& workflow, const StepSpec& step, const FindOutput& find)
      : workflow_(workflow), step_(step), find_(find) {}

  StepKey make() {
    add_code();
    add_arguments();
    for (const InputSpec& input : step_.inputs)
      if (!contains(step_.memoize.ignore, input.name)) add("input " + input.name, input_digest(input));
    add_parameters();
    add_outputs_of_others();
    StepKey key;
    key.digest = sha256(parts_.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
    for (const auto& [name, value] : parts_.items()) key.parts.emplace_back(name, value.get<std::string>());
    return key;
  }

 private:
  void add(const std::string& name, const std::string& value) { parts_[name] = value; }

  void add_code() {
    const Builtin& builtin = find_builtin(step_.uses);
    add("kind", step_.uses.empty() ? "command" : step_.uses);
    add("seed", std::to_string(step_.seed));
    if (!step_.uses.empty()) add("code version", std::to_string(builtin.version));
    if (!step_.version.empty()) add("version", step_.version);
    std::string made;
    for (const OutputSpec& output : step_.outputs)
      made += fmt::format("{}{} {}", made.empty() ? "" : ", ", output.name, static_cast<int>(output.kind));
    add("outputs", made);
    // A program of the user's own is code, too; one of the system's is not looked into.
    if (step_.uses.empty() && !step_.words.empty()) {
      const std::string program = step_.words[0].fill(symbols(true));
      std::error_code ignored;
      if (program.find('/') != std::string::npos && !program.starts_with("/usr/") && !program.starts_with("/bin/") &&
          fs::is_regular_file(program, ignored))
        add("program", content_of(program).digest);
    }
  }

  void add_arguments() {
    const Builtin& builtin = find_builtin(step_.uses);
    for (const OptionSpec& option : step_.with) {
      const bool places = std::ranges::find(builtin.placement, option.name) != builtin.placement.end();
      if (places || option.off || contains(step_.memoize.ignore, option.name)) continue;
      add("option " + option.name, lines(option.values, true));
    }
    if (!step_.words.empty()) add(step_.uses.empty() ? "command" : "arguments", lines(step_.words));
    if (!step_.script.parts.empty()) add("command", step_.script.fill(symbols()));
    for (const auto& [name, value] : step_.env)
      if (!contains(step_.memoize.ignore, name)) add("variable " + name, value.fill(symbols()));
  }

  // Each on a line of its own: words may have spaces.
  std::string lines(const std::vector<Template>& words, bool with_parameters = false) const {
    std::vector<std::string> filled;
    for (const Template& word : words) filled.push_back(word.fill(symbols(with_parameters)));
    return joined(filled, "\n");
  }

  // Apart from the text that they stand in, so that a difference names them.
  void add_parameters() {
    const auto visit = [&](const Template& text) {
      for (const TemplatePart& part : text.parts)
        if (part.is_reference && part.reference.kind == Reference::Kind::parameter)
          add("parameter " + part.reference.name, *workflow_.find_parameter(part.reference.name));
    };
    std::ranges::for_each(step_.words, visit);
    visit(step_.script);
    for (const auto& [name, value] : step_.env)
      if (!contains(step_.memoize.ignore, name)) visit(value);
  }

  // Outputs of other steps that are not named as inputs.
  void add_outputs_of_others() {
    std::set<std::string> inputs;
    for (const InputSpec& input : step_.inputs)
      for (const Template& text : input.values)
        for (const TemplatePart& part : text.parts) inputs.insert(part.is_reference ? part.reference.text() : "");
    for_each_reference(step_, [&](const Reference& reference, Place) {
      if (reference.kind != Reference::Kind::step_output || inputs.contains(reference.text())) return;
      const OutputRecord* output = find_(reference.step, reference.name);
      add(fmt::format("input {}.{}", reference.step, reference.name), output == nullptr ? "" : output->identity);
    });
  }

  std::string input_digest(const InputSpec& input) const {
    std::vector<std::string> digests;
    for (const Template& text : input.values) {
      const bool is_output = text.is_reference() && text.parts[0].reference.kind == Reference::Kind::step_output;
      if (is_output) {
        const Reference& reference = text.parts[0].reference;
        if (const OutputRecord* output = find_(reference.step, reference.name)) digests.push_back(output->identity);
        continue;
      }
      InputSpec one = input;
      one.values = {text};
      for (const std::string& path : input_values(workflow_, one, find_)) digests.push_back(content_of(path).identity);
    }
    return joined(digests, " ");
  }

  // What a reference stands for in a key: names in place of paths, and of what may differ from run to run.
  Resolver symbols(bool with_parameters = false) const {
    return [this, with_parameters](const Reference& reference) -> std::vector<std::string> {
      if (with_parameters && reference.kind == Reference::Kind::parameter)
        return {*workflow_.find_parameter(reference.name)};
      if (reference.kind == Reference::Kind::step && reference.name == "name") return {step_.name};
      return {"<" + reference.text() + ">"};
    };
  }

  const Workflow& workflow_;
  const StepSpec& step_;
  const FindOutput& find_;
  nlohmann::json parts_ = nlohmann::json::object();  // sorted by name
};

std::string shortened(const std::string& value) {
  constexpr std::size_t kMost = 40;
  return value.size() <= kMost ? printable(value) : printable(value.substr(0, kMost)) + "...";
}

bool is_digest(const std::string& value) {
  constexpr std::size_t kDigits = 64;
  return value.size() >= kDigits && value.find_first_not_of("0123456789abcdef ") == std::string::npos;
}

}  // namespace

StepKey key_of(const Workflow& workflow, const StepSpec& step, const FindOutput& find) {
  return KeyMaker(workflow, step, find).make();
}

std::string difference(const StepKey& there, const StepKey& here) {
  std::vector<std::string> differences;
  const auto value = [](const StepKey& key, const std::string& name) -> const std::string* {
    const auto found = std::ranges::find(key.parts, name, &std::pair<std::string, std::string>::first);
    return found == key.parts.end() ? nullptr : &found->second;
  };
  for (const auto& [name, now] : here.parts) {
    const std::string* before = value(there, name);
    if (before == nullptr)
      differences.push_back(name + " is new");
    else if (*before != now && (is_digest(now) || is_digest(*before)))
      differences.push_back(name + " has changed");
    else if (*before != now)
      differences.push_back(fmt::format("{}: {} then, {} now", name, shortened(*before), shortened(now)));
  }
  for (const auto& [name, before] : there.parts)
    if (value(here, name) == nullptr) differences.push_back(name + " is gone");
  return joined(differences, "; ");
}

}  // namespace lockring::app::workflow
