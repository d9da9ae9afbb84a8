// What a step's `when` says: comparisons of references, numbers and words.
//
//   when: ${steps.eval.accuracy} >= 0.9 && ${mode} != 'quick'
//
// Operators, the loosest first: ||, &&, then == != < <= > >=, then !, and parentheses. Two numbers are compared as
// numbers, anything else as text, of which only == and != tell. On its own a value is false if it is empty, "false" or
// "0". Values are never parsed as a part of the expression, whatever they hold.
#pragma once

#include "apps/workflow/text_template.h"

#include <memory>
#include <string>
#include <vector>

namespace lockring::app::workflow {

class Condition {
 public:
  struct Node;  // of the expression's tree

  // Throws Error{data} with the place.
  static Condition parse(const std::string& text, Place place, const std::string& file);

  // Throws Error{data} if words are asked for their order.
  bool holds(const Resolver& values_of) const;
  const std::vector<Reference>& references() const { return references_; }
  const std::string& text() const { return text_; }
  Place place() const { return place_; }

 private:
  std::string text_;
  Place place_;
  std::shared_ptr<const Node> root_;
  std::vector<Reference> references_;
};

}  // namespace lockring::app::workflow
