// What a step has made, as the journal and the cache keep it.
#pragma once

#include "apps/workflow/spec.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace lockring::app::workflow {

struct OutputRecord {
  std::string name;
  OutputKind kind = OutputKind::file;
  std::string location;  // of a file or folder, relative to where the workflow runs
  std::string value;     // of a value
  std::string digest;    // see Content
  std::string identity;
  std::int64_t bytes = 0;

  // What a reference to it stands for: the absolute path, or the value.
  std::string text() const;
};

// What decides whether a step need not run: its kind, the version of its code, arguments, the content of its inputs and
// its seed; never paths, times or placement.
struct StepKey {
  std::string digest;                                      // of the parts as JSON, SHA-256
  std::vector<std::pair<std::string, std::string>> parts;  // by name, sorted
};

// A JSON array in one line.
std::string outputs_json(const std::vector<OutputRecord>& outputs);
// Throws Error{data} on anything else.
std::vector<OutputRecord> parse_outputs(const std::string& json);

// "" if all outputs are as they were recorded and as the step's specification wants them, else what is wrong.
std::string find_change(const StepSpec& step, const std::vector<OutputRecord>& outputs);

}  // namespace lockring::app::workflow
