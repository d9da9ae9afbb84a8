#include "apps/workflow/yaml_reader.h"

#include "apps/workflow/duration.h"
#include "core/error.h"
#include "core/text.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>

namespace lockring::app::workflow {

void YamlReader::check_keys(const YamlNode& map, std::string_view what, const std::vector<std::string>& known) const {
  for (const YamlEntry& entry : map.entries) {
    if (std::ranges::find(known, entry.key) != known.end()) continue;
    const std::string guess = did_you_mean(entry.key, known);
    fail(entry.place, fmt::format("unknown key '{}' of {}{}", printable(entry.key), what,
                                  guess.empty() ? "; there are " + joined(known) : guess));
  }
}

void YamlReader::check_name(const std::string& name, Place place, std::string_view what) const {
  constexpr std::size_t kMost = 63;  // of a label in Kubernetes
  const auto fits = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_' || c == '-'; };
  if (name.empty() || name.size() > kMost || !std::ranges::all_of(name, fits) || name[0] == '-')
    fail(place, fmt::format("'{}' is no name of {}: expected at most {} letters, digits, '_' and '-'", printable(name),
                            what, kMost));
}

const YamlNode& YamlReader::map(const YamlNode& node, std::string_view key) const {
  if (node.kind != YamlNode::Kind::map)
    fail(node.place, fmt::format("{}: expected a map, found {}", key, node.kind_name()));
  return node;
}

const std::string& YamlReader::scalar(const YamlNode& node, std::string_view key, std::string_view expected) const {
  if (node.kind != YamlNode::Kind::scalar)
    fail(node.place, fmt::format("{}: expected {}, found {}", key, expected, node.kind_name()));
  if (node.text.find('\0') != std::string::npos) fail(node.place, fmt::format("{}: a text with a zero byte", key));
  return node.text;
}

std::string YamlReader::word(const YamlNode& node, std::string_view key) const {
  const Template text = parse_template(scalar(node, key, "a word"), node.place, file_);
  return text.fill([&](const Reference& reference) -> std::vector<std::string> {
    const auto found = std::ranges::find(parameters_, reference.name, &Parameters::value_type::first);
    if (reference.kind != Reference::Kind::parameter || found == parameters_.end())
      fail(node.place, fmt::format("{}: {} is no parameter; only parameters are known here", key, reference.text()));
    return {found->second};
  });
}

bool YamlReader::truth(const YamlNode& node, std::string_view key) const {
  const std::string text = word(node, key);
  if (text != "true" && text != "false")
    fail(node.place, fmt::format("{}: expected true or false, found '{}'", key, printable(text)));
  return text == "true";
}

std::int64_t YamlReader::integer(const YamlNode& node, std::string_view key, std::int64_t least,
                                 std::int64_t most) const {
  const std::string text = word(node, key);
  std::int64_t value = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || rest != text.data() + text.size() || value < least || value > most)
    fail(node.place,
         fmt::format("{}: expected a whole number from {} to {}, found '{}'", key, least, most, printable(text)));
  return value;
}

double YamlReader::number(const YamlNode& node, std::string_view key, double least, double most) const {
  const std::string text = word(node, key);
  double value = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || rest != text.data() + text.size() || !(value >= least && value <= most))
    fail(node.place, fmt::format("{}: expected a number from {} to {}, found '{}'", key, least, most, printable(text)));
  return value;
}

double YamlReader::duration(const YamlNode& node, std::string_view key) const {
  const std::string text = word(node, key);
  const std::optional<double> seconds = parse_duration(text);
  if (!seconds)
    fail(node.place,
         fmt::format("{}: expected a time such as 250ms, 90s, 30m, 12h or 14d, found '{}'", key, printable(text)));
  return *seconds;
}

Template YamlReader::text(const YamlNode& node, std::string_view key) const {
  return parse_template(scalar(node, key, "a text"), node.place, file_);
}

std::vector<std::string> YamlReader::words(const YamlNode& node, std::string_view key) const {
  if (node.kind != YamlNode::Kind::list) return {word(node, key)};
  std::vector<std::string> words;
  for (const YamlNode& item : node.items) words.push_back(word(item, key));
  return words;
}

std::vector<Template> YamlReader::texts(const YamlNode& node, std::string_view key) const {
  if (node.kind != YamlNode::Kind::list) return {text(node, key)};
  std::vector<Template> texts;
  for (const YamlNode& item : node.items) texts.push_back(text(item, key));
  return texts;
}

}  // namespace lockring::app::workflow
