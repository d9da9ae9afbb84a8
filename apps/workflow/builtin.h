// What the engine knows of the program's own commands when they are steps: `uses: train`.
#pragma once

#include "apps/workflow/spec.h"

#include <string>
#include <string_view>
#include <vector>

namespace lockring::app::workflow {

struct Builtin {
  std::string_view uses;
  // Of what the command makes from the same arguments and inputs. Raised when that changes, so that no older result is
  // taken for a new one.
  int version = 1;
  bool trains = false;  // under mpirun, on replicas
  // Options that change where and how fast it runs, not what comes out: no part of a key.
  std::vector<std::string_view> placement = {};
  // File of the output `run` with which an attempt that was cut off goes on if --resume is given; "": none.
  std::string_view checkpoint = {};
  // What the step gets if its file says nothing of it.
  std::vector<OutputSpec> outputs = {};
  // Options that are set from inputs, outputs and the step itself unless the file sets them: name and text.
  std::vector<std::pair<std::string_view, std::string_view>> options = {};
};

// Of a command that nothing more is known of, version 1 and nothing else.
const Builtin& find_builtin(std::string_view uses);

// Completes a step that uses a command: outputs and options as above. Refuses commands and options that there are not,
// with the nearest; throws Error{data} with the place.
void complete_builtin(StepSpec& step, const std::string& file);

}  // namespace lockring::app::workflow
