// YAML 1.2 text as a tree in which every node knows where it stands, so that a mistake can be told with its place. A
// thin front of yaml-cpp.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lockring::app::workflow {

// From 1.
struct Place {
  int line = 1;
  int column = 1;
};

struct YamlEntry;

struct YamlNode {
  enum class Kind { null, scalar, list, map };
  Kind kind = Kind::null;
  Place place;
  std::string text;                // of a scalar
  bool plain = false;              // a scalar without quotes: it may stand for a number or a truth value
  std::vector<YamlNode> items;     // of a list
  std::vector<YamlEntry> entries;  // of a map, in the order of the file; no key comes twice

  // "a list", for messages about what was found.
  std::string_view kind_name() const;
  const YamlNode* find(std::string_view key) const;
};

struct YamlEntry {
  std::string key;
  Place place;  // of the key
  YamlNode value;
};

// Throws Error{data} "FILE:LINE:COLUMN: MESSAGE".
[[noreturn]] void fail_at(const std::string& file, Place place, const std::string& message);

// One document; an empty text is a null node. Aliases are copied, "<<" merges maps. Throws as above, also for a text
// whose aliases would make it huge.
YamlNode parse_yaml(std::string_view text, const std::string& file);

}  // namespace lockring::app::workflow
