#include "apps/workflow/text_template.h"

#include "apps/shell_word.h"
#include "core/error.h"
#include "core/text.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>

namespace lockring::app::workflow {
namespace {

struct Prefix {
  std::string_view word;
  Reference::Kind kind;
};
constexpr std::array<Prefix, 5> kPrefixes = {{{"inputs", Reference::Kind::input},
                                              {"outputs", Reference::Kind::output},
                                              {"steps", Reference::Kind::step_output},
                                              {"step", Reference::Kind::step},
                                              {"run", Reference::Kind::run}}};

bool is_name(std::string_view text) {
  return !text.empty() &&
         std::ranges::all_of(text, [](unsigned char c) { return std::isalnum(c) != 0 || c == '_' || c == '-'; });
}

// Of what stands between the braces; nothing if it is none.
std::optional<Reference> parse_reference(std::string_view text) {
  const std::size_t dot = text.find('.');
  if (dot == std::string_view::npos) {
    if (!is_name(text)) return std::nullopt;
    return Reference{Reference::Kind::parameter, std::string(text), ""};
  }
  const auto prefix = std::ranges::find(kPrefixes, text.substr(0, dot), &Prefix::word);
  if (prefix == kPrefixes.end()) return std::nullopt;
  std::string_view name = text.substr(dot + 1);
  Reference reference{prefix->kind, "", ""};
  if (prefix->kind == Reference::Kind::step_output) {
    const std::size_t second = name.find('.');
    if (second == std::string_view::npos || !is_name(name.substr(0, second))) return std::nullopt;
    reference.step = name.substr(0, second);
    name.remove_prefix(second + 1);
  }
  if (!is_name(name)) return std::nullopt;
  reference.name = name;
  return reference;
}

void add_literal(Template& result, std::string_view text) {
  if (text.empty()) return;
  if (!result.parts.empty() && !result.parts.back().is_reference)
    result.parts.back().literal += text;
  else
    result.parts.push_back({std::string(text), false, {}});
}

// The state of a shell's quotes behind a piece of its text.
enum class Quotes { none, single, twice };

Quotes after(std::string_view text, Quotes quotes) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quotes == Quotes::single) {
      if (c == '\'') quotes = Quotes::none;
    } else if (c == '\\') {
      ++i;
    } else if (c == '"') {
      quotes = quotes == Quotes::twice ? Quotes::none : Quotes::twice;
    } else if (c == '\'' && quotes == Quotes::none) {
      quotes = Quotes::single;
    }
  }
  return quotes;
}

std::string quoted_value(const std::string& value, Quotes quotes) {
  if (quotes == Quotes::none) return shell_word(value);
  std::string text;
  for (const char c : value) {
    if (quotes == Quotes::single) {
      text += c == '\'' ? std::string("'\\''") : std::string(1, c);
    } else {
      if (std::string_view("\\\"$`").find(c) != std::string_view::npos) text += '\\';
      text += c;
    }
  }
  return text;
}

}  // namespace

std::string Reference::text() const {
  if (kind == Kind::parameter) return "${" + name + "}";
  const auto prefix = std::ranges::find(kPrefixes, kind, &Prefix::kind);
  return fmt::format("${{{}.{}{}}}", prefix->word, step.empty() ? "" : step + ".", name);
}

std::string Template::fill(const Resolver& values_of) const {
  std::string text;
  for (const TemplatePart& part : parts)
    text += part.is_reference ? joined(values_of(part.reference), " ") : part.literal;
  return text;
}

Template parse_template(const std::string& text, Place place, const std::string& file) {
  Template result{.parts = {}, .place = place};
  std::size_t at = 0;
  for (std::size_t found; (found = text.find("${", at)) != std::string::npos;) {
    if (found > at && text[found - 1] == '$') {  // "$${"
      add_literal(result, std::string_view(text).substr(at, found - at - 1));
      add_literal(result, "${");
      at = found + 2;
      continue;
    }
    add_literal(result, std::string_view(text).substr(at, found - at));
    const std::size_t end = text.find('}', found);
    if (end == std::string::npos)
      fail_at(file, place, fmt::format("'{}' has no closing brace", printable(text.substr(found))));
    const std::string inside = text.substr(found + 2, end - found - 2);
    const std::optional<Reference> reference = parse_reference(inside);
    if (!reference)
      fail_at(file, place,
              fmt::format("'${{{}}}' is no reference: expected a parameter, inputs.NAME, outputs.NAME, "
                          "steps.STEP.OUTPUT, step.NAME or run.NAME; '$${{' is '${{' itself",
                          printable(inside)));
    result.parts.push_back({"", true, *reference});
    at = end + 1;
  }
  add_literal(result, std::string_view(text).substr(at));
  return result;
}

std::vector<Template> split_words(const Template& text) {
  std::vector<Template> words;
  bool inside = false;
  const auto word = [&]() -> Template& {
    if (!inside) words.push_back({.parts = {}, .place = text.place});
    inside = true;
    return words.back();
  };
  for (const TemplatePart& part : text.parts) {
    if (part.is_reference) {
      word().parts.push_back(part);
      continue;
    }
    for (const char c : part.literal) {
      if (std::isspace(static_cast<unsigned char>(c)) != 0)
        inside = false;
      else
        add_literal(word(), std::string_view(&c, 1));
    }
  }
  return words;
}

std::string fill_for_shell(const Template& text, const Resolver& values_of) {
  std::string filled;
  Quotes quotes = Quotes::none;
  for (const TemplatePart& part : text.parts) {
    if (part.is_reference) {
      std::vector<std::string> values = values_of(part.reference);
      for (std::string& value : values) value = quoted_value(value, quotes);
      filled += joined(values, " ");
    } else {
      filled += part.literal;
      quotes = after(part.literal, quotes);
    }
  }
  return filled;
}

}  // namespace lockring::app::workflow
