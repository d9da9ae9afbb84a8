#include "data/class_names.h"

#include "core/error.h"
#include "core/files.h"

#include <set>
#include <sstream>
#include <string_view>

namespace lockring::data {
namespace {

// How many bytes the character at the start of `text` takes in UTF-8 (RFC 3629); 0 if there is none or it is a control
// character. Overlong forms and surrogates pass: nothing depends on them.
std::size_t character_bytes(std::string_view text) {
  const auto first = static_cast<unsigned char>(text.front());
  if (first < 0x20 || first == 0x7f) return 0;
  if (first < 0x80) return 1;
  const std::size_t bytes = first >= 0xf5 ? 0 : first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc2 ? 2 : 0;
  if (bytes == 0 || bytes > text.size()) return 0;
  for (const char more : text.substr(1, bytes - 1))
    if ((static_cast<unsigned char>(more) & 0xc0) != 0x80) return 0;
  return bytes;
}

// They go into JSON, terminals and the lines of a file.
bool is_printable(std::string_view text) {
  while (!text.empty()) {
    const std::size_t bytes = character_bytes(text);
    if (bytes == 0) return false;
    text.remove_prefix(bytes);
  }
  return true;
}

}  // namespace

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
