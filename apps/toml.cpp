#include "apps/toml.h"

#include "core/error.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <set>
#include <utility>

namespace lockring::app {
namespace {

bool take_any_of(std::string_view& text, std::string_view wanted) {
  if (text.empty() || wanted.find(text.front()) == std::string_view::npos) return false;
  text.remove_prefix(1);
  return true;
}

bool take_digits(std::string_view& text, std::string_view digits = "0123456789") {
  const std::size_t count = std::min(text.find_first_not_of(digits), text.size());
  text.remove_prefix(count);
  return count > 0;
}

// true, false, and the numbers of TOML without their underscores.
bool is_bare_value(std::string_view text) {
  if (text == "true" || text == "false") return true;
  if (text.starts_with("0x")) {
    text.remove_prefix(2);
    return take_digits(text, "0123456789abcdefABCDEF") && text.empty();
  }
  take_any_of(text, "+-");
  if (text == "inf" || text == "nan") return true;
  if (!take_any_of(text, "0") && !take_digits(text)) return false;
  if (take_any_of(text, ".") && !take_digits(text)) return false;
  if (take_any_of(text, "eE")) {
    take_any_of(text, "+-");
    if (!take_digits(text)) return false;
  }
  return text.empty();
}

bool is_hex_digit(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }

// A number may have underscores, each between two digits.
std::string without_underscores(std::string_view text) {
  std::string kept;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool between = i > 0 && i + 1 < text.size() && is_hex_digit(text[i - 1]) && is_hex_digit(text[i + 1]);
    if (text[i] != '_' || !between) kept += text[i];
  }
  return kept;
}

bool is_key_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

void append_utf8(std::string& text, std::uint32_t point) {
  if (point < 0x80) {
    text += static_cast<char>(point);
    return;
  }
  const int trailing = point < 0x800 ? 1 : point < 0x10000 ? 2 : 3;
  constexpr std::uint32_t kLead[] = {0, 0xc0, 0xe0, 0xf0};
  text += static_cast<char>(kLead[trailing] | point >> 6 * trailing);
  for (int i = trailing - 1; i >= 0; --i) text += static_cast<char>(0x80 | (point >> 6 * i & 0x3f));
}

class Reader {
 public:
  Reader(std::string_view text, std::string_view name) : text_(text), name_(name) {}

  std::vector<TomlEntry> entries() {
    check_characters();
    for (skip_blank_lines(); !at_end(); skip_blank_lines()) {
      if (peek() == '[') {
        read_section();
      } else {
        read_entry();
      }
      end_line();
    }
    return std::move(entries_);
  }

 private:
  // Control characters can only be written as escapes. Bytes beyond ASCII are left as they are: a path need not be
  // UTF-8.
  void check_characters() {
    for (const char c : text_) {
      const auto byte = static_cast<unsigned char>(c);
      if (c == '\n') ++line_;
      if ((byte < 0x20 && c != '\n' && c != '\t' && c != '\r') || byte == 0x7f)
        fail_here("expected text, found the control character {:02x}", byte);
    }
    line_ = 1;
  }

  bool at_end() const { return position_ >= text_.size(); }
  // The next character; a line's end also at the end of the text.
  char peek() const { return at_end() ? '\n' : text_[position_]; }

  bool take(char wanted) {
    if (at_end() || peek() != wanted) return false;
    if (wanted == '\n') ++line_;
    ++position_;
    return true;
  }

  template <class... Args>
  [[noreturn]] void fail_here(fmt::format_string<Args...> format, Args&&... args) const {
    fail(ErrorCode::usage, "{}:{}: {}", name_, line_, fmt::format(format, std::forward<Args>(args)...));
  }

  void skip_blanks() {
    while (take(' ') || take('\t') || take('\r')) {
    }
    if (peek() == '#') {
      while (peek() != '\n') ++position_;
    }
  }

  void skip_blank_lines() {
    do {
      skip_blanks();
    } while (take('\n'));
  }

  void end_line() {
    skip_blanks();
    if (peek() != '\n') fail_here("expected the end of the line, found '{}'", rest_of_line());
    take('\n');
  }

  std::string_view rest_of_line() const { return text_.substr(position_, text_.find('\n', position_) - position_); }

  // One or more parts between dots.
  std::vector<std::string> read_key() {
    std::vector<std::string> parts;
    do {
      skip_blanks();
      std::string part;
      if (peek() == '"' || peek() == '\'') {
        part = read_string();
      } else {
        while (is_key_character(peek())) part += text_[position_++];
      }
      if (part.empty()) fail_here("expected a key, found '{}'", rest_of_line());
      parts.push_back(std::move(part));
      skip_blanks();
    } while (take('.'));
    return parts;
  }

  void read_section() {
    take('[');
    const std::vector<std::string> parts = read_key();
    if (!take(']')) fail_here("expected ']' after the section's name, found '{}'", rest_of_line());
    section_ = parts;
  }

  void read_entry() {
    TomlEntry entry{.section = {}, .key = {}, .values = {}, .line = line_};
    std::vector<std::string> path = section_;
    for (std::string& part : read_key()) path.push_back(std::move(part));
    if (!take('=')) fail_here("expected '=' after '{}', found '{}'", path.back(), rest_of_line());
    skip_blanks();
    entry.values = read_values();
    entry.key = path.back();
    path.pop_back();
    for (const std::string& part : path) entry.section += (entry.section.empty() ? "" : ".") + part;
    if (!seen_.emplace(entry.section, entry.key).second) fail_here("'{}' is set twice", entry.key);
    entries_.push_back(std::move(entry));
  }

  std::vector<std::string> read_values() {
    if (!take('[')) return {read_value()};
    std::vector<std::string> values;
    for (skip_blank_lines(); !take(']'); skip_blank_lines()) {
      if (at_end()) fail_here("an array lacks its ']'");
      values.push_back(read_value());
      skip_blank_lines();
      if (!take(',') && peek() != ']') fail_here("expected ',' or ']' in an array, found '{}'", rest_of_line());
    }
    return values;
  }

  std::string read_value() {
    if (peek() == '"' || peek() == '\'') return read_string();
    std::string text;
    while (is_key_character(peek()) || peek() == '+' || peek() == '.' || peek() == ':') text += text_[position_++];
    if (text.empty()) fail_here("expected a value, found '{}'", rest_of_line());
    std::string number = without_underscores(text);
    if (!is_bare_value(number)) fail_here("'{}' is not a number or boolean; strings need quotes", text);
    return number;
  }

  std::string read_string() {
    const char quote = text_[position_++];
    std::string text;
    while (!take(quote)) {
      if (peek() == '\n') fail_here("a string lacks its closing {}", quote);
      const char c = text_[position_++];
      if (c == '\\' && quote == '"') {
        read_escape(text);
      } else {
        text += c;
      }
    }
    return text;
  }

  void read_escape(std::string& text) {
    constexpr std::string_view kNames = "btnfr\"\\";
    constexpr std::string_view kMeanings = "\b\t\n\f\r\"\\";
    const char name = peek();
    if (name == 'u' || name == 'U') {
      ++position_;
      append_utf8(text, read_code_point(name == 'u' ? 4 : 8));
    } else if (const std::size_t at = kNames.find(name); at != std::string_view::npos) {
      ++position_;
      text += kMeanings[at];
    } else {
      fail_here("unknown escape '\\{}' in a string", name == '\n' ? "" : std::string(1, name));
    }
  }

  std::uint32_t read_code_point(std::size_t digits) {
    const std::string_view hex = text_.substr(position_, digits);
    std::uint32_t point = 0;
    const auto [end, error] = std::from_chars(hex.data(), hex.data() + hex.size(), point, 16);
    const bool surrogate = point >= 0xd800 && point < 0xe000;
    if (error != std::errc() || end != hex.data() + digits || surrogate || point > 0x10ffff) {
      fail_here("expected {} hex digits of a Unicode character, found '{}'", digits, hex);
    }
    position_ += digits;
    return point;
  }

  std::string_view text_;
  std::string_view name_;
  std::size_t position_ = 0;
  int line_ = 1;
  std::vector<std::string> section_;
  std::vector<TomlEntry> entries_;
  std::set<std::pair<std::string, std::string>> seen_;
};

}  // namespace

std::vector<TomlEntry> parse_toml(std::string_view text, std::string_view name) { return Reader(text, name).entries(); }

std::string toml_value(std::string_view value) {
  if (is_bare_value(value)) return std::string(value);
  std::string text = "\"";
  for (const char c : value) {
    if (c == '"' || c == '\\') {
      text += '\\';
      text += c;
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      text += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      text += c;
    }
  }
  return text + '"';
}

}  // namespace lockring::app
