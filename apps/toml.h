// The part of TOML 1.0 (toml.io) that a configuration file needs: comments, [sections], dotted keys, and values that
// are strings on one line, numbers, booleans or flat arrays of these. Anything else is an error, never skipped.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lockring::app {

struct TomlEntry {
  std::string section;              // "" at the top, "data.ingest" below [data.ingest]
  std::string key;                  // the last part of a dotted key
  std::vector<std::string> values;  // as text, unquoted; one unless it was an array
  int line;                         // where it begins, from 1
};

// In the order of the file. `name` is what messages call the file. Throws Error{usage} with the line's number.
std::vector<TomlEntry> parse_toml(std::string_view text, std::string_view name);

// `value` as a TOML value: bare if it reads as a number or boolean, a quoted string otherwise.
std::string toml_value(std::string_view value);

}  // namespace lockring::app
