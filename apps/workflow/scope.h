// What references stand for while a step runs, and for the key of a step.
#pragma once

#include "apps/workflow/record.h"
#include "apps/workflow/spec.h"

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace lockring::app::workflow {

// The output of a step that has ended well, or null.
using FindOutput = std::function<const OutputRecord*(const std::string& step, const std::string& output)>;

// The values of one list or single input that are there: members of a list whose step has made nothing are left out.
std::vector<std::string> input_values(const Workflow& workflow, const InputSpec& input, const FindOutput& find);

// What changes from attempt to attempt.
struct AttemptFacts {
  std::map<std::string, std::string> outputs;  // where to write each, by name
  int attempt = 1;
  int port = 0;  // free when the attempt started; of servers
  std::string run_id;
  std::string run_status;
  std::string program;
};

// Throws Error{data} for a step output that is not there. Holds references to its arguments.
Resolver make_resolver(const Workflow& workflow, const StepSpec& step, const FindOutput& find,
                       const AttemptFacts& facts);

// The command of a step: words for exec, the first of them a program.
std::vector<std::string> command_of(const StepSpec& step, const Resolver& resolver, const std::string& program);
// The words with their references filled in; one that is a reference to a list becomes as many words.
std::vector<std::string> fill_words(const std::vector<Template>& words, const Resolver& resolver);

// Reads all inputs that are not yet known by their digests. Throws Error{data} if one cannot be read.
StepKey key_of(const Workflow& workflow, const StepSpec& step, const FindOutput& find);

// In which parts two keys differ: "option epochs: 3 there, 5 here".
std::string difference(const StepKey& there, const StepKey& here);

}  // namespace lockring::app::workflow
