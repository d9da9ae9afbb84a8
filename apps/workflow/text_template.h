// Text with references, "${inputs.data}", that are filled in when a step runs.
//
//   ${NAME}               a parameter of the workflow
//   ${inputs.NAME}        the path or value of one of the step's inputs
//   ${outputs.NAME}       the path that the step is to write an output to
//   ${steps.STEP.NAME}    the path or value of another step's output, which becomes an input
//   ${step.NAME}          of the step itself: name, seed, ranks, replicas, slots, attempt, port
//   ${run.NAME}           of the run: id, status (for on_exit), program (this program)
//
// "$${" stands for "${"; any other "$" is itself.
#pragma once

#include "apps/workflow/yaml.h"

#include <functional>
#include <string>
#include <vector>

namespace lockring::app::workflow {

struct Reference {
  enum class Kind { parameter, input, output, step_output, step, run };
  Kind kind = Kind::parameter;
  std::string name;
  std::string step;  // of a step_output

  bool operator==(const Reference&) const = default;
  // As it is written, with the braces.
  std::string text() const;
};

// What a reference stands for: one value, or those of a list of inputs.
using Resolver = std::function<std::vector<std::string>(const Reference&)>;

struct TemplatePart {
  std::string literal;  // or
  bool is_reference = false;
  Reference reference;
};

struct Template {
  std::vector<TemplatePart> parts;
  Place place;

  // Whether it is one reference and nothing else.
  bool is_reference() const { return parts.size() == 1 && parts[0].is_reference; }
  // With the values of a list side by side, a space between them.
  std::string fill(const Resolver& values_of) const;
};

// Throws Error{data} with the place of what is no reference; whether what it names exists is not looked at.
Template parse_template(const std::string& text, Place place, const std::string& file);

// Splits at white space outside of references: the words of a command line without quotes.
std::vector<Template> split_words(const Template& text);

// As text for a shell, which takes each value as what it is, whatever characters it has: in quotes of the kind that
// the text around it asks for.
std::string fill_for_shell(const Template& text, const Resolver& values_of);

}  // namespace lockring::app::workflow
