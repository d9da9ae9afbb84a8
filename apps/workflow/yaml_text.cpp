#include "apps/workflow/yaml_text.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cctype>

namespace lockring::app::workflow {
namespace {

using Json = nlohmann::ordered_json;

// A word that no YAML reader takes for a number, a truth value, a date, or a part of the syntax.
bool is_plain(const std::string& text) {
  constexpr std::string_view kWords[] = {"true", "false", "yes", "no", "on", "off", "null", "y", "n"};
  if (text.empty() || std::isalpha(static_cast<unsigned char>(text[0])) == 0) return false;
  std::string lower = text;
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return std::ranges::find(kWords, lower) == std::end(kWords) && std::ranges::all_of(text, [](unsigned char c) {
           return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.' || c == '/';
         });
}

// Lines that come back as they are when they stand below "|": one line end at the end, nothing but text before it.
bool is_block(const std::string& text) {
  const auto is_text = [](unsigned char c) { return c == '\n' || (c >= ' ' && c != '\x7f'); };
  return text.ends_with('\n') && !text.ends_with("\n\n") && text[0] != ' ' && text[0] != '\n' &&
         std::ranges::all_of(text, is_text);
}

// Strings of JSON are strings of YAML.
std::string scalar(const Json& json) {
  if (json.is_string() && is_plain(json.get<std::string>())) return json.get<std::string>();
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

void write(const Json& json, std::size_t indent, std::string& text);

// What stands behind "key:" or "-".
void write_value(const Json& json, std::size_t indent, std::string& text) {
  const std::string gap(indent, ' ');
  if (json.is_structured() && !json.empty()) {
    text += '\n';
    write(json, indent, text);
  } else if (json.is_string() && is_block(json.get<std::string>())) {
    text += " |\n";
    std::string line;
    for (const char c : json.get<std::string>()) {
      line += c;
      if (c != '\n') continue;
      text += line == "\n" ? line : gap + line;
      line.clear();
    }
  } else {
    text += ' ' + scalar(json) + '\n';
  }
}

void write(const Json& json, std::size_t indent, std::string& text) {
  const std::string gap(indent, ' ');
  for (const auto& [key, value] : json.items()) {
    if (json.is_object()) {
      text += gap + scalar(key) + ':';
      write_value(value, indent + 2, text);
    } else if (value.is_structured() && !value.empty()) {
      std::string item;
      write(value, indent + 2, item);
      item.replace(indent, 1, "-");
      text += item;
    } else {
      text += gap + '-';
      write_value(value, indent + 2, text);
    }
  }
}

}  // namespace

std::string yaml_text(std::string_view json) {
  std::string text;
  write_value(Json::parse(json), 0, text);
  return text.substr(text.find_first_not_of("\n "));
}

}  // namespace lockring::app::workflow
