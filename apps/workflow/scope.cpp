#include "apps/workflow/scope.h"

#include "apps/workflow/builtin.h"
#include "core/error.h"
#include "core/text.h"

#include <algorithm>
#include <filesystem>

namespace lockring::app::workflow {
namespace fs = std::filesystem;
namespace {

std::string parameter_value(const Workflow& workflow, const std::string& name) {
  const std::string* value = workflow.find_parameter(name);
  return value == nullptr ? "" : *value;
}

std::string step_word(const StepSpec& step, const AttemptFacts& facts, const std::string& name) {
  if (name == "name") return step.name;
  if (name == "seed") return std::to_string(step.seed);
  if (name == "ranks") return std::to_string(step.resources.ranks);
  if (name == "replicas") return std::to_string(step.resources.replicas);
  if (name == "slots") return std::to_string(step.resources.slots);
  if (name == "port") return std::to_string(facts.port);
  return std::to_string(facts.attempt);
}

std::string run_word(const AttemptFacts& facts, const std::string& name) {
  if (name == "id") return facts.run_id;
  if (name == "status") return facts.run_status;
  return facts.program;
}

// Ranks of one machine may be more than its cores, and whoever runs workflows as root in a container means it.
std::vector<std::string> mpirun(int ranks) {
  return {"env",
          "OMPI_ALLOW_RUN_AS_ROOT=1",
          "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1",
          "mpirun",
          "--oversubscribe",
          "--bind-to",
          "none",
          "-np",
          std::to_string(ranks)};
}

std::vector<std::string> option_words(const OptionSpec& option, const Resolver& resolver) {
  if (option.off) return {};
  std::vector<std::string> words = {"--" + option.name};
  const std::vector<std::string> values = fill_words(option.values, resolver);
  words.insert(words.end(), values.begin(), values.end());
  return words;
}

}  // namespace

std::vector<std::string> input_values(const Workflow& workflow, const InputSpec& input, const FindOutput& find) {
  std::vector<std::string> values;
  for (const Template& text : input.values) {
    bool missing = false;
    const std::string value = text.fill([&](const Reference& reference) -> std::vector<std::string> {
      if (reference.kind == Reference::Kind::parameter) return {parameter_value(workflow, reference.name)};
      const OutputRecord* output = find(reference.step, reference.name);
      missing |= output == nullptr;
      return {output == nullptr ? "" : output->text()};
    });
    check(!missing || input.is_list, ErrorCode::data, "input {}: what it refers to is not there", input.name);
    if (missing) continue;
    const bool is_output = text.is_reference() && text.parts[0].reference.kind == Reference::Kind::step_output;
    values.push_back(is_output ? value : fs::absolute(value).string());
  }
  return values;
}

Resolver make_resolver(const Workflow& workflow, const StepSpec& step, const FindOutput& find,
                       const AttemptFacts& facts) {
  return [&](const Reference& reference) -> std::vector<std::string> {
    switch (reference.kind) {
      case Reference::Kind::parameter:
        return {parameter_value(workflow, reference.name)};
      case Reference::Kind::input:
        return input_values(workflow, *step.find_input(reference.name), find);
      case Reference::Kind::output:
        return {facts.outputs.at(reference.name)};
      case Reference::Kind::step:
        return {step_word(step, facts, reference.name)};
      case Reference::Kind::run:
        return {run_word(facts, reference.name)};
      case Reference::Kind::step_output:
        break;
    }
    const OutputRecord* output = find(reference.step, reference.name);
    check(output != nullptr, ErrorCode::data, "{} is not there", reference.text());
    return {output->text()};
  };
}

std::vector<std::string> fill_words(const std::vector<Template>& words, const Resolver& resolver) {
  std::vector<std::string> filled;
  for (const Template& word : words) {
    if (word.is_reference()) {
      const std::vector<std::string> values = resolver(word.parts[0].reference);
      filled.insert(filled.end(), values.begin(), values.end());
    } else {
      filled.push_back(word.fill(resolver));
    }
  }
  return filled;
}

std::vector<std::string> command_of(const StepSpec& step, const Resolver& resolver, const std::string& program) {
  if (!step.script.parts.empty()) return {"/bin/sh", "-c", fill_for_shell(step.script, resolver)};
  std::vector<std::string> command;
  if (!step.uses.empty()) {
    if (step.resources.ranks > 1) command = mpirun(step.resources.ranks);
    command.push_back(program);
    for (const Template& word : split_words({.parts = {{step.uses, false, {}}}, .place = {}}))
      command.push_back(word.parts[0].literal);
    for (const OptionSpec& option : step.with)
      for (std::string& word : option_words(option, resolver)) command.push_back(std::move(word));
  }
  for (std::string& word : fill_words(step.words, resolver)) command.push_back(std::move(word));
  check(!command.empty(), ErrorCode::data, "the command of step {} is empty", step.name);
  return command;
}

}  // namespace lockring::app::workflow
