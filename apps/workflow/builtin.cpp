#include "apps/workflow/builtin.h"

#include "apps/command.h"
#include "core/error.h"
#include "core/text.h"

#include <CLI/CLI.hpp>

#include <algorithm>

namespace lockring::app::workflow {
namespace {

// A part of a batch each, so that a training's bits do not depend on its ranks and replicas (docs/determinism.md).
constexpr int kShards = 4;

OutputSpec output(std::string name, OutputKind kind, std::vector<std::string> identity) {
  OutputSpec spec;
  spec.name = name;
  spec.file_name = std::move(name);
  spec.kind = kind;
  spec.identity = std::move(identity);
  return spec;
}

const std::vector<Builtin>& table() {
  static const std::vector<Builtin> builtins = {
      // The manifest has the time of the ingestion in it; the files that it describes do not.
      {.uses = "data ingest",
       .version = 1,
       .placement = {"quiet", "json"},
       .outputs = {output("data", OutputKind::directory, {"!*/manifest.json"})},
       .options = {{"data-dir", "${outputs.data}"}, {"seed", "${step.seed}"}}},
      // Logs, events and the summary have times and paths in them; bundles do not.
      {.uses = "train",
       .version = 1,
       .trains = true,
       .placement = {"replicas", "allreduce", "loader-threads", "cache-memory", "cache-dir", "quiet", "json", "trace",
                     "trace-steps", "run-dir"},
       .checkpoint = "last.safetensors",
       .outputs = {output("run", OutputKind::directory, {"*.safetensors"})},
       .options = {{"run-dir", "${outputs.run}"},
                   {"data-dir", "${inputs.data}"},
                   {"seed", "${step.seed}"},
                   {"shards", "4"},
                   {"replicas", "${step.replicas}"}}},
      {.uses = "ask", .version = 1, .outputs = {}, .options = {{"data-dir", "${inputs.data}"}}},
  };
  return builtins;
}

const Command& find_command(const StepSpec& step, const std::string& file) {
  std::vector<std::string> names;
  for (const Command& command : commands()) {
    if (command.name == step.uses) return command;
    names.push_back(command.name);
  }
  fail_at(file, step.uses_place,
          fmt::format("there is no command '{}'{}; 'lockring --help' lists them", printable(step.uses),
                      did_you_mean(step.uses, names)));
}

void check_options(const StepSpec& step, const std::string& file) {
  CLI::App app;
  const Action action = find_command(step, file).declare(app);
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options())
    for (const std::string& name : option->get_lnames()) names.push_back(name);
  std::erase(names, "help");
  for (const OptionSpec& option : step.with)
    if (std::ranges::find(names, option.name) == names.end())
      fail_at(file, option.place,
              fmt::format("'lockring {}' has no option '{}'{}", step.uses, printable(option.name),
                          did_you_mean(option.name, names)));
}

bool has_option(const StepSpec& step, std::string_view name) {
  return std::ranges::find(step.with, name, &OptionSpec::name) != step.with.end();
}

}  // namespace

const Builtin& find_builtin(std::string_view uses) {
  static const Builtin unknown{.uses = ""};
  const auto found = std::ranges::find(table(), uses, &Builtin::uses);
  return found == table().end() ? unknown : *found;
}

void complete_builtin(StepSpec& step, const std::string& file) {
  check_options(step, file);
  const Builtin& builtin = find_builtin(step.uses);
  for (const OutputSpec& made : builtin.outputs) {
    const auto given = std::ranges::find(step.outputs, made.name, &OutputSpec::name);
    if (given == step.outputs.end())
      step.outputs.push_back(made);
    else if (given->identity.empty())
      given->identity = made.identity;
  }
  if (builtin.trains && !has_option(step, "shards") && kShards % (step.resources.ranks * step.resources.replicas) != 0)
    fail_at(file, step.place,
            fmt::format("step {}: {} shards cannot be dealt to {} ranks of {} replicas; say how many with 'shards'",
                        step.name, kShards, step.resources.ranks, step.resources.replicas));
  for (const auto& [name, text] : builtin.options) {
    if (has_option(step, name)) continue;
    const Template value = parse_template(std::string(text), step.place, file);
    const Reference& reference = value.parts[0].reference;
    if (value.is_reference() && reference.kind == Reference::Kind::input && step.find_input(reference.name) == nullptr)
      continue;
    step.with.push_back({.name = std::string(name), .values = {value}, .place = step.place});
  }
}

}  // namespace lockring::app::workflow
