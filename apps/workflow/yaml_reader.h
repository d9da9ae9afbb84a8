// Typed values out of a YAML tree, with messages that name the place, what was expected and what was found.
#pragma once

#include "apps/workflow/spec.h"
#include "apps/workflow/yaml.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lockring::app::workflow {

// Holds references to its arguments.
class YamlReader {
 public:
  // References to `parameters` are filled in where a value is needed at once.
  YamlReader(const std::string& file, const Parameters& parameters) : file_(file), parameters_(parameters) {}

  [[noreturn]] void fail(Place place, const std::string& message) const { fail_at(file_, place, message); }
  // Refuses keys that are none of these, with the nearest; `what` has the keys: "a step".
  void check_keys(const YamlNode& map, std::string_view what, const std::vector<std::string>& known) const;
  // Refuses what is not letters, digits, "_" and "-".
  void check_name(const std::string& name, Place place, std::string_view what) const;

  // Each names the key in its message.
  const YamlNode& map(const YamlNode& node, std::string_view key) const;
  std::string word(const YamlNode& node, std::string_view key) const;  // with parameters filled in
  bool truth(const YamlNode& node, std::string_view key) const;
  std::int64_t integer(const YamlNode& node, std::string_view key, std::int64_t least, std::int64_t most) const;
  double number(const YamlNode& node, std::string_view key, double least, double most) const;
  double duration(const YamlNode& node, std::string_view key) const;
  Template text(const YamlNode& node, std::string_view key) const;  // with references in it
  // One or a list.
  std::vector<std::string> words(const YamlNode& node, std::string_view key) const;
  std::vector<Template> texts(const YamlNode& node, std::string_view key) const;

 private:
  const std::string& scalar(const YamlNode& node, std::string_view key, std::string_view expected) const;

  const std::string& file_;
  const Parameters& parameters_;
};

}  // namespace lockring::app::workflow
