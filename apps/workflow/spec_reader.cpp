#include "apps/workflow/builtin.h"
#include "apps/workflow/graph.h"
#include "apps/workflow/spec.h"
#include "apps/workflow/yaml_reader.h"
#include "core/error.h"
#include "core/files.h"
#include "core/text.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <limits>

namespace lockring::app::workflow {
namespace {

constexpr std::array<std::pair<std::string_view, OutputKind>, 3> kOutputKinds = {
    {{"file", OutputKind::file}, {"dir", OutputKind::directory}, {"value", OutputKind::value}}};
constexpr std::int64_t kMostRanks = 4096;
constexpr double kMostFactor = 1000;

// Words that make a shell necessary: they are no programs.
constexpr std::string_view kShellWords[] = {".",    ":",      "[",    "alias", "cd",     "command", "eval",  "exec",
                                            "exit", "export", "for",  "if",    "read",   "set",     "shift", "source",
                                            "test", "times",  "trap", "type",  "ulimit", "umask",   "unset", "until",
                                            "wait", "while",  "case", "echo",  "printf"};

// Whether a command written as one text means more than its words: then a shell runs it.
bool needs_shell(const Template& text) {
  constexpr std::string_view kSpecial = "|&;<>()$`\\\"'*?[]#~{}!\n";
  for (const TemplatePart& part : text.parts)
    if (!part.is_reference && part.literal.find_first_of(kSpecial) != std::string::npos) return true;
  const std::vector<Template> words = split_words(text);
  if (words.empty() || words[0].parts[0].is_reference) return false;
  const std::string& first = words[0].parts[0].literal;
  return first.find('=') != std::string::npos || std::ranges::find(kShellWords, first) != std::end(kShellWords);
}

class SpecReader {
 public:
  SpecReader(const std::string& file, const Parameters& set) : set_(set) {
    workflow_.file = file;
    workflow_.name = std::filesystem::path(file).stem().string();
  }

  Workflow read(const std::string& text) {
    workflow_.text = text;
    const YamlNode root = parse_yaml(text, workflow_.file);
    reader_.map(root, "a workflow");
    reader_.check_keys(root, "a workflow", {"name", "parameters", "seed", "keep_going", "steps", "on_exit"});
    read_parameters(root.find("parameters"));
    if (const YamlNode* name = root.find("name")) workflow_.name = reader_.word(*name, "name");
    reader_.check_name(workflow_.name, root.place, "a workflow");
    if (const YamlNode* seed = root.find("seed")) workflow_.seed = read_seed(*seed);
    if (const YamlNode* keep = root.find("keep_going")) workflow_.keep_going = reader_.truth(*keep, "keep_going");
    const YamlNode* steps = root.find("steps");
    if (steps == nullptr) reader_.fail(root.place, "a workflow has steps: there is no key 'steps'");
    for (const YamlEntry& entry : reader_.map(*steps, "steps").entries)
      workflow_.steps.push_back(read_step(entry.key, entry.place, entry.value));
    if (workflow_.steps.empty()) reader_.fail(steps->place, "a workflow has at least one step");
    if (const YamlNode* on_exit = root.find("on_exit"))
      workflow_.on_exit = read_step("on_exit", on_exit->place, *on_exit);
    check_workflow(workflow_);
    return std::move(workflow_);
  }

 private:
  void read_parameters(const YamlNode* node) {
    std::vector<std::string> names;
    Parameters values;
    if (node != nullptr && node->kind != YamlNode::Kind::null) {
      for (const YamlEntry& entry : reader_.map(*node, "parameters").entries) {
        reader_.check_name(entry.key, entry.place, "a parameter");
        names.push_back(entry.key);
        const auto given = std::ranges::find(set_.rbegin(), set_.rend(), entry.key, &Parameters::value_type::first);
        if (given == set_.rend() && entry.value.kind == YamlNode::Kind::null)
          reader_.fail(entry.place, fmt::format("the parameter '{}' has no value; give it with --set {}=VALUE",
                                                entry.key, entry.key));
        values.emplace_back(entry.key, given != set_.rend() ? given->second : reader_.word(entry.value, entry.key));
      }
    }
    for (const auto& [name, value] : set_)
      check(std::ranges::find(names, name) != names.end(), "--set {}: {} has no such parameter{}", printable(name),
            workflow_.file, names.empty() ? "" : did_you_mean(name, names));
    workflow_.parameters = std::move(values);
  }

  std::uint64_t read_seed(const YamlNode& node) const {
    return static_cast<std::uint64_t>(reader_.integer(node, "seed", 0, std::numeric_limits<std::int64_t>::max()));
  }

  StepSpec read_step(const std::string& name, Place place, const YamlNode& node) const {
    reader_.check_name(name, place, "a step");
    StepSpec step;
    step.name = name;
    step.place = place;
    step.seed = workflow_.seed;
    reader_.map(node, "step " + name);
    reader_.check_keys(node, "a step",
                       {"run", "uses", "with", "args", "needs", "inputs", "outputs", "env", "when", "version", "seed",
                        "memoize", "retries", "timeout", "resources", "async", "server"});
    read_command(step, node);
    read_needs(step, node);
    read_data(step, node);
    read_policy(step, node);
    if (step.server && step.find_output(kServerHost) == nullptr)
      step.outputs.push_back({.name = kServerHost,
                              .kind = OutputKind::value,
                              .file_name = kServerHost,
                              .path = {},
                              .identity = {},
                              .place = place});
    if (!step.uses.empty()) complete_builtin(step, workflow_.file);
    return step;
  }

  void read_command(StepSpec& step, const YamlNode& node) const {
    const YamlNode* run = node.find("run");
    const YamlNode* uses = node.find("uses");
    if ((run == nullptr) == (uses == nullptr))
      reader_.fail(step.place, fmt::format("step {}: expected one of 'run' and 'uses', found {}", step.name,
                                           run == nullptr ? "none" : "both"));
    for (const char* key : {"with", "args"})
      if (const YamlNode* given = node.find(key); given != nullptr && uses == nullptr)
        reader_.fail(given->place, fmt::format("'{}' goes with 'uses'; 'run' has its arguments in itself", key));
    if (uses != nullptr) {
      step.uses = reader_.word(*uses, "uses");
      step.uses_place = uses->place;
      if (const YamlNode* args = node.find("args")) step.words = reader_.texts(*args, "args");
      if (const YamlNode* with = node.find("with")) read_options(step, *with);
    } else if (run->kind == YamlNode::Kind::list) {
      step.words = reader_.texts(*run, "run");
    } else {
      const Template text = reader_.text(*run, "run");
      (needs_shell(text) ? step.script : step.words.emplace_back()) = text;
      if (step.script.parts.empty()) step.words = split_words(text);
    }
    if (uses == nullptr && step.words.empty() && step.script.parts.empty())
      reader_.fail(run->place, "run: expected a command, found nothing");
  }

  void read_options(StepSpec& step, const YamlNode& node) const {
    for (const YamlEntry& entry : reader_.map(node, "with").entries) {
      OptionSpec option{.name = entry.key, .values = {}, .place = entry.place};
      const bool flag = entry.value.kind == YamlNode::Kind::scalar && entry.value.plain &&
                        (entry.value.text == "true" || entry.value.text == "false");
      if (flag)
        option.off = entry.value.text == "false";
      else
        option.values = reader_.texts(entry.value, entry.key);
      step.with.push_back(std::move(option));
    }
  }

  void read_needs(StepSpec& step, const YamlNode& node) const {
    const YamlNode* needs = node.find("needs");
    if (needs == nullptr) return;
    const auto add = [&](const YamlNode& one) { step.needs.push_back({reader_.word(one, "needs"), one.place}); };
    if (needs->kind != YamlNode::Kind::list) return add(*needs);
    for (const YamlNode& one : needs->items) add(one);
  }

  void read_data(StepSpec& step, const YamlNode& node) const {
    if (const YamlNode* inputs = node.find("inputs")) {
      for (const YamlEntry& entry : reader_.map(*inputs, "inputs").entries) {
        reader_.check_name(entry.key, entry.place, "an input");
        step.inputs.push_back({.name = entry.key,
                               .values = reader_.texts(entry.value, entry.key),
                               .is_list = entry.value.kind == YamlNode::Kind::list,
                               .place = entry.place});
      }
    }
    if (const YamlNode* outputs = node.find("outputs"))
      for (const YamlEntry& entry : reader_.map(*outputs, "outputs").entries)
        step.outputs.push_back(read_output(entry));
    if (const YamlNode* env = node.find("env"))
      for (const YamlEntry& entry : reader_.map(*env, "env").entries)
        step.env.emplace_back(entry.key, reader_.text(entry.value, entry.key));
    if (const YamlNode* when = node.find("when")) {
      if (when->kind != YamlNode::Kind::scalar)
        reader_.fail(when->place, fmt::format("when: expected a condition, found {}", when->kind_name()));
      step.when = Condition::parse(when->text, when->place, workflow_.file);
    }
  }

  OutputSpec read_output(const YamlEntry& entry) const {
    reader_.check_name(entry.key, entry.place, "an output");
    OutputSpec output{.name = entry.key, .file_name = {}, .path = {}, .identity = {}, .place = entry.place};
    const YamlNode* kind = &entry.value;
    if (entry.value.kind == YamlNode::Kind::map) {
      reader_.check_keys(entry.value, "an output", {"kind", "name", "path", "identity"});
      kind = entry.value.find("kind");
      if (const YamlNode* name = entry.value.find("name")) output.file_name = read_file_name(*name);
      if (const YamlNode* path = entry.value.find("path")) output.path = read_path(*path);
      if (const YamlNode* identity = entry.value.find("identity"))
        output.identity = reader_.words(*identity, "identity");
    }
    const std::string word = kind == nullptr ? "file" : reader_.word(*kind, entry.key);
    const auto* found = std::ranges::find(kOutputKinds, word, &std::pair<std::string_view, OutputKind>::first);
    if (found == kOutputKinds.end())
      reader_.fail(kind->place, fmt::format("{}: expected file, dir or value, found '{}'{}", entry.key, printable(word),
                                            did_you_mean(word, std::vector<std::string>{"file", "dir", "value"})));
    output.kind = found->second;
    if (output.kind == OutputKind::value && !output.path.empty())
      reader_.fail(entry.place, fmt::format("{}: a value has no path of its own", entry.key));
    if (output.file_name.empty())
      output.file_name = output.path.empty() ? entry.key : std::filesystem::path(output.path).filename().string();
    return output;
  }

  std::string read_file_name(const YamlNode& node) const {
    const std::string name = reader_.word(node, "name");
    if (name.empty() || name == "." || name == ".." || name.find('/') != std::string::npos)
      reader_.fail(node.place,
                   fmt::format("name: expected the name of a file without folders, found '{}'", printable(name)));
    return name;
  }

  std::string read_path(const YamlNode& node) const {
    const std::string path = std::filesystem::path(reader_.word(node, "path")).lexically_normal().string();
    const std::string last = std::filesystem::path(path).filename().string();
    if (last.empty() || last == "." || last == "..")
      reader_.fail(node.place, fmt::format("path: expected the path of a file or folder, found '{}'", printable(path)));
    return path;
  }

  void read_policy(StepSpec& step, const YamlNode& node) const {
    if (const YamlNode* version = node.find("version")) step.version = reader_.word(*version, "version");
    if (const YamlNode* seed = node.find("seed")) step.seed = read_seed(*seed);
    if (const YamlNode* memoize = node.find("memoize")) read_memoize(step.memoize, *memoize);
    if (const YamlNode* retries = node.find("retries")) read_retries(step.retries, *retries);
    if (const YamlNode* timeout = node.find("timeout")) step.timeout = reader_.duration(*timeout, "timeout");
    if (const YamlNode* async = node.find("async")) step.async = reader_.truth(*async, "async");
    if (const YamlNode* resources = node.find("resources")) read_resources(step.resources, *resources);
    if (const YamlNode* server = node.find("server")) read_server(step, *server);
  }

  void read_memoize(Memoize& memoize, const YamlNode& node) const {
    if (node.kind == YamlNode::Kind::scalar) {
      memoize.on = reader_.truth(node, "memoize");
      return;
    }
    memoize.on = true;
    reader_.check_keys(reader_.map(node, "memoize"), "memoize", {"max_age", "ignore"});
    if (const YamlNode* age = node.find("max_age")) memoize.max_age = reader_.duration(*age, "max_age");
    if (const YamlNode* ignore = node.find("ignore")) memoize.ignore = reader_.words(*ignore, "ignore");
  }

  void read_retries(Retries& retries, const YamlNode& node) const {
    constexpr std::int64_t kMost = 1000;
    if (node.kind == YamlNode::Kind::scalar) {
      retries.limit = static_cast<int>(reader_.integer(node, "retries", 0, kMost));
      return;
    }
    reader_.check_keys(reader_.map(node, "retries"), "retries", {"limit", "backoff", "factor", "max"});
    const YamlNode* limit = node.find("limit");
    if (limit == nullptr) reader_.fail(node.place, "retries: there is no key 'limit'");
    retries.limit = static_cast<int>(reader_.integer(*limit, "limit", 0, kMost));
    if (const YamlNode* backoff = node.find("backoff")) retries.backoff = reader_.duration(*backoff, "backoff");
    if (const YamlNode* factor = node.find("factor"))
      retries.factor = reader_.number(*factor, "factor", 1, kMostFactor);
    if (const YamlNode* most = node.find("max")) retries.most = reader_.duration(*most, "max");
  }

  void read_resources(Resources& resources, const YamlNode& node) const {
    reader_.check_keys(reader_.map(node, "resources"), "resources", {"ranks", "replicas", "slots"});
    const auto count = [&](const char* key, int& value) {
      if (const YamlNode* given = node.find(key)) value = static_cast<int>(reader_.integer(*given, key, 1, kMostRanks));
    };
    count("ranks", resources.ranks);
    count("replicas", resources.replicas);
    resources.slots = resources.ranks * resources.replicas;
    count("slots", resources.slots);
  }

  void read_server(StepSpec& step, const YamlNode& node) const {
    step.server.emplace();
    step.resources.slots = 0;
    if (node.kind == YamlNode::Kind::scalar) {
      if (!reader_.truth(node, "server")) step.server.reset();
      return;
    }
    reader_.check_keys(reader_.map(node, "server"), "server", {"ready", "ready_timeout", "update"});
    if (const YamlNode* ready = node.find("ready")) step.server->ready = reader_.text(*ready, "ready");
    if (const YamlNode* update = node.find("update")) {
      step.server->update = update->kind == YamlNode::Kind::list ? reader_.texts(*update, "update")
                                                                 : split_words(reader_.text(*update, "update"));
    }
    if (const YamlNode* patience = node.find("ready_timeout"))
      step.server->ready_timeout = reader_.duration(*patience, "ready_timeout");
  }

  const Parameters& set_;
  Workflow workflow_;
  const YamlReader reader_{workflow_.file, workflow_.parameters};
};

}  // namespace

const OutputSpec* StepSpec::find_output(const std::string& output) const {
  const auto found = std::ranges::find(outputs, output, &OutputSpec::name);
  return found == outputs.end() ? nullptr : &*found;
}

const InputSpec* StepSpec::find_input(const std::string& input) const {
  const auto found = std::ranges::find(inputs, input, &InputSpec::name);
  return found == inputs.end() ? nullptr : &*found;
}

int Workflow::find(const std::string& step) const {
  const auto found = std::ranges::find(steps, step, &StepSpec::name);
  return found == steps.end() ? -1 : static_cast<int>(found - steps.begin());
}

const std::string* Workflow::find_parameter(const std::string& parameter) const {
  const auto found = std::ranges::find(parameters, parameter, &Parameters::value_type::first);
  return found == parameters.end() ? nullptr : &found->second;
}

Workflow parse_workflow(const std::string& text, const std::string& file, const Parameters& set) {
  return SpecReader(file, set).read(text);
}

Workflow read_workflow(const std::string& file, const Parameters& set) {
  return parse_workflow(read_file(file), file, set);
}

}  // namespace lockring::app::workflow
