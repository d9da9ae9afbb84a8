#include "data/class_names.h"

#include "core/error.h"
#include "core/files.h"
#include "core/text.h"

#include <set>
#include <sstream>
#include <string_view>

namespace lockring::data {
std::vector<std::string> read_class_names(const std::filesystem::path& path) {
  std::istringstream text(read_file(path));
  std::vector<std::string> names;
  for (std::string line; std::getline(text, line);) {
    if (line.ends_with('\r')) line.pop_back();
    names.push_back(line);
  }
  while (!names.empty() && names.back().empty()) names.pop_back();
  check_class_names(names, path.string());
  return names;
}

std::string class_file_text(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += name + '\n';
  return text;
}

void check_class_names(const std::vector<std::string>& names, const std::string& where) {
  check(!names.empty() && names.size() <= kMostClasses, ErrorCode::data, "{}: expected 1 to {} classes, found {}",
        where, kMostClasses, names.size());
  std::set<std::string_view> seen;
  for (std::size_t i = 0; i < names.size(); ++i) {
    check(!names[i].empty() && is_printable(names[i]), ErrorCode::data,
          "{}: class {}: expected a name of printable UTF-8, found '{}'", where, i, names[i]);
    check(seen.insert(names[i]).second, ErrorCode::data, "{}: class {}: the name '{}' is there twice", where, i,
          names[i]);
  }
}

std::vector<std::string> numbered_classes(std::size_t count) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < count; ++i) names.push_back(std::to_string(i));
  return names;
}

}  // namespace lockring::data
