// A workflow as its file says it: parameters, and steps with what they need, take, run and make. docs/workflow.md is
// the format's description.
#pragma once

#include "apps/workflow/condition.h"
#include "apps/workflow/text_template.h"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace lockring::app::workflow {

// By name, as text.
using Parameters = std::vector<std::pair<std::string, std::string>>;

struct InputSpec {
  std::string name;
  std::vector<Template> values;  // each a path, or one reference to another step's output
  bool is_list = false;
  Place place;
};

enum class OutputKind { file, directory, value };

struct OutputSpec {
  std::string name;
  OutputKind kind = OutputKind::file;
  std::string file_name;  // in the step's own folder; or
  std::string path;       // a fixed place, relative to where the workflow runs
  // Which files of it count as its content when a later step's key is made: patterns, with "!" in front those that do
  // not. Empty: all.
  std::vector<std::string> identity;
  Place place;
};

struct OptionSpec {
  std::string name;
  std::vector<Template> values;  // none for a flag
  bool off = false;              // a flag that is set to false
  Place place;
};

struct Memoize {
  bool on = false;
  std::optional<double> max_age;    // seconds
  std::vector<std::string> ignore;  // inputs, options and variables that are no part of the key
};

struct Retries {
  int limit = 0;       // attempts beyond the first
  double backoff = 0;  // seconds before the first of them,
  double factor = 2;   // times this before each next,
  double most = 600;   // and at most so many
};

struct Resources {
  int ranks = 1;
  int replicas = 1;
  int slots = 1;  // cores
};

// An output that every server has without saying so: where others find it. Here that is this machine.
inline constexpr char kServerHost[] = "host";

struct ServerSpec {
  Template ready;                // "http://...", "tcp:HOST:PORT"; empty: ready when all outputs are there
  std::vector<Template> update;  // what tells it of new inputs; empty: nothing does
  double ready_timeout = 60;     // seconds
};

struct Need {
  std::string step;
  Place place;
};

struct StepSpec {
  std::string name;
  Place place;
  std::vector<Need> needs;
  // One of three: a command of this program with options and arguments, the words of a command, or a shell's script.
  std::string uses;
  Place uses_place;
  std::vector<OptionSpec> with;
  std::vector<Template> words;  // with `uses` its arguments
  Template script;
  std::vector<InputSpec> inputs;
  std::vector<OutputSpec> outputs;
  std::vector<std::pair<std::string, Template>> env;
  std::optional<Condition> when;
  std::string version;  // the user's, of the step's code
  std::uint64_t seed = 0;
  Memoize memoize;
  Retries retries;
  double timeout = 0;  // seconds of an attempt; 0: no limit
  Resources resources;
  bool async = false;
  std::optional<ServerSpec> server;

  const OutputSpec* find_output(const std::string& output) const;
  const InputSpec* find_input(const std::string& input) const;
};

struct Workflow {
  std::string name;
  std::string file;  // as given, for messages
  std::string text;
  Parameters parameters;
  std::uint64_t seed = 1;
  bool keep_going = false;
  std::vector<StepSpec> steps;  // in the order of the file
  std::optional<StepSpec> on_exit;

  // Index of a step, or -1.
  int find(const std::string& step) const;
  const std::string* find_parameter(const std::string& parameter) const;
};

// `set` replaces values of parameters. Throws Error{data} with file, line and column, Error{usage} for a parameter that
// there is not. Finds also what concerns several steps: unknown or duplicate names, references to nothing, cycles.
Workflow parse_workflow(const std::string& text, const std::string& file, const Parameters& set = {});
Workflow read_workflow(const std::string& file, const Parameters& set = {});

}  // namespace lockring::app::workflow
