#include "apps/parse.h"

#include "apps/terminal.h"
#include "apps/toml.h"
#include "core/error.h"
#include "core/files.h"
#include "core/text.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <utility>

namespace lockring::app {
namespace {

constexpr char kConfigVariable[] = "LOCKRING_CONFIG";

// batch-size -> LOCKRING_BATCH_SIZE
std::string variable_name(const std::string& option) {
  std::string name = "LOCKRING_";
  for (const char c : option) name += c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return name;
}

// CLI11 skips empty variables, and so do we.
bool is_set(const std::string& variable) {
  const char* value = std::getenv(variable.c_str());
  return value != nullptr && *value != '\0';
}

// The names of options that a file may set.
std::vector<std::string> config_keys(const CLI::App& app) {
  std::vector<std::string> keys;
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_configurable()) keys.push_back(option->get_single_name());
  }
  return keys;
}

// "data ingest" -> "data.ingest"
std::string section_name(const Command& command) {
  std::string name = command.name;
  std::replace(name.begin(), name.end(), ' ', '.');
  return name;
}

// Reads and writes the configuration file for CLI11, which asks it before it looks at the environment.
class TomlConfig final : public CLI::Config {
 public:
  TomlConfig(const CLI::App& app, std::string section) : app_(app), section_(std::move(section)) {}

  std::vector<CLI::ConfigItem> from_config(std::istream& input) const override {
    const std::string text{std::istreambuf_iterator<char>(input), {}};
    const auto file = app_.get_config_ptr()->as<std::string>();
    std::vector<TomlEntry> entries = parse_toml(text, file);
    for (const TomlEntry& entry : entries) check_known(entry, file);
    // CLI11 keeps the first value of a key: that of the command's own section.
    std::stable_partition(entries.begin(), entries.end(),
                          [](const TomlEntry& entry) { return !entry.section.empty(); });
    std::vector<CLI::ConfigItem> items;
    for (TomlEntry& entry : entries) {
      if (is_set(variable_name(entry.key)) || (!entry.section.empty() && entry.section != section_)) continue;
      items.push_back({.parents = {}, .name = std::move(entry.key), .inputs = std::move(entry.values)});
    }
    return items;
  }

  std::string to_config(const CLI::App* app, bool, bool, std::string) const override {
    std::string text;
    for (const CLI::Option* option : app->get_options()) {
      if (!option->get_configurable()) continue;
      if (const std::string value = value_text(*option); !value.empty()) {
        text += option->get_single_name() + " = " + value + "\n";
      }
    }
    return text;
  }

 private:
  void check_known(const TomlEntry& entry, const std::string& file) const {
    std::vector<std::string> sections;
    for (const Command& command : commands()) sections.push_back(section_name(command));
    sections.push_back(section_);
    if (!entry.section.empty() && std::find(sections.begin(), sections.end(), entry.section) == sections.end()) {
      fail(ErrorCode::usage, "{}:{}: unknown section '{}'{}", file, entry.line, entry.section,
           did_you_mean(entry.section, sections));
    }
    if (!entry.section.empty() && entry.section != section_) return;
    const std::vector<std::string> keys = config_keys(app_);
    if (std::find(keys.begin(), keys.end(), entry.key) == keys.end()) {
      fail(ErrorCode::usage, "{}:{}: unknown key '{}'{}", file, entry.line, entry.key, did_you_mean(entry.key, keys));
    }
    check(!entry.values.empty(), "{}:{}: '{}' is an empty array", file, entry.line, entry.key);
  }

  // As a TOML value; empty if the option has none.
  static std::string value_text(const CLI::Option& option) {
    const bool list = option.get_items_expected_max() > 1;
    std::vector<std::string> values = option.count() > 0 ? option.reduced_results() : default_values(option, list);
    if (!list) return values.empty() ? "" : toml_value(values.back());
    std::string text;
    for (const std::string& value : values) text += (text.empty() ? "" : ", ") + toml_value(value);
    return text.empty() ? "" : "[" + text + "]";
  }

  static std::vector<std::string> default_values(const CLI::Option& option, bool list) {
    const std::string text = option.get_default_str();
    if (text.empty())
      return option.get_expected_min() == 0 ? std::vector<std::string>{"false"} : std::vector<std::string>{};
    if (!list) return {text};
    // CLI11 writes lists as [a,b].
    const std::string items = text.substr(1, text.size() - 2);
    return items.empty() ? std::vector<std::string>{} : CLI::detail::split(items, ',');
  }

  const CLI::App& app_;
  std::string section_;
};

// "--epochs INT=10": without the environment's names, which follow one rule that the program's help states.
class Help final : public CLI::Formatter {
 public:
  Help() { column_width(34); }
  std::string make_option_opts(const CLI::Option* option) const override {
    if (option->get_type_size() == 0) return "";
    const std::string type = type_text(option->get_type_name());
    std::string text = type.empty() ? "" : " " + type;
    if (!option->get_default_str().empty()) text += "=" + option->get_default_str();
    if (option->get_expected_max() == CLI::detail::expected_max_vector_size) text += " ...";
    return text + (option->get_required() ? " (required)" : "");
  }

 private:
  // Of "TEXT:sgd|adam" the words, of "INT:POSITIVE" the kind.
  static std::string type_text(const std::string& type) {
    const std::size_t colon = type.find(':');
    if (colon == std::string::npos) return type;
    return type.starts_with("TEXT:") ? type.substr(colon + 1) : type.substr(0, colon);
  }
};

std::shared_ptr<CLI::App> make_app(const Command& command) {
  auto app = std::make_shared<CLI::App>(command.summary, "lockring " + command.name);
  app->formatter(std::make_shared<Help>());
  app->set_help_flag("-h,--help", "show this help");
  app->option_defaults()->always_capture_default();
  app->allow_extras();
  return app;
}

// What every command has. After the command's own options, since it names a variable for each.
void add_common_options(CLI::App& app, const Command& command) {
  for (CLI::Option* option : app.get_options()) {
    if (option->get_configurable()) option->envname(variable_name(option->get_single_name()));
  }
  const char* file = std::getenv(kConfigVariable);
  const bool given = is_set(kConfigVariable);
  app.set_config("--config", given ? file : "", "TOML file with defaults for these options", given);
  app.get_config_ptr()->type_name("FILE");
  app.config_formatter(std::make_shared<TomlConfig>(app, section_name(command)));
}

void check_no_extras(const CLI::App& app) {
  const std::vector<std::string> extras = app.remaining();
  if (extras.empty()) return;
  const std::string& extra = extras.front();
  if (!extra.starts_with('-')) fail(ErrorCode::usage, "unexpected argument '{}'", extra);
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  const std::string name = extra.substr(0, extra.find('='));
  fail(ErrorCode::usage, "unknown option '{}'{}", name, did_you_mean(name, names));
}

// CLI11 takes the nearest integer for one that is out of range, and nan for a number in any range.
void check_number(const std::string& name, const std::string& type, const std::string& text) {
  errno = 0;
  if (type.starts_with("INT")) {
    std::strtoll(text.c_str(), nullptr, 0);
  } else if (type.starts_with("UINT")) {
    std::strtoull(text.c_str(), nullptr, 0);
  } else if (type.starts_with("FLOAT")) {
    if (!std::isfinite(std::strtod(text.c_str(), nullptr))) errno = ERANGE;
  }
  if (errno == ERANGE) fail(ErrorCode::usage, "{}: {} is out of range", name, text);
}

void check_numbers(const CLI::App& app) {
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& text : option->results()) check_number(option->get_name(), option->get_type_name(), text);
  }
}

std::string one_line(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

}  // namespace

Action parse(const Command& command, std::vector<std::string> arguments) {
  const std::shared_ptr<CLI::App> app = make_app(command);
  Action action = command.declare(*app);
  add_common_options(*app, command);
  std::reverse(arguments.begin(), arguments.end());  // CLI11 takes them from the back
  try {
    app->parse(arguments);
  } catch (const CLI::CallForHelp&) {
    return [text = app->help()] {
      print("{}", text);
      return 0;
    };
  } catch (const CLI::FileError&) {
    fail(ErrorCode::usage, "cannot read the configuration file '{}'", app->get_config_ptr()->as<std::string>());
  } catch (const CLI::ParseError& error) {
    check_no_extras(*app);
    fail(ErrorCode::usage, "{}; see 'lockring {} --help'", one_line(error.what()), command.name);
  }
  check_no_extras(*app);
  check_numbers(*app);
  return [app, action = std::move(action)] { return action(); };
}

std::string config_text(const CLI::App& app) { return app.config_to_str(true); }

CLI::Validator one_of(std::vector<std::string> words) {
  auto check_word = [words](const std::string& word) -> std::string {
    if (std::find(words.begin(), words.end(), word) != words.end()) return "";
    return fmt::format("'{}' is not one of {}{}", word, joined(words), did_you_mean(word, words));
  };
  return CLI::Validator(std::move(check_word), joined(words, "|"));
}

}  // namespace lockring::app
