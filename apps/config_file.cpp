#include "apps/config_file.h"

#include "apps/command.h"
#include "apps/option_values.h"
#include "apps/toml.h"
#include "core/error.h"
#include "core/text.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace lockring::app {
namespace {

// The names of options that a file may set.
std::vector<std::string> config_keys(const CLI::App& app) {
  std::vector<std::string> keys;
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_configurable()) keys.push_back(option->get_single_name());
  }
  return keys;
}

// "data ingest" -> "data.ingest"
std::string section_name(std::string command) {
  std::replace(command.begin(), command.end(), ' ', '.');
  return command;
}

void check_key(const CLI::App& app, const TomlEntry& entry, const std::string& file) {
  const std::vector<std::string> keys = config_keys(app);
  if (std::find(keys.begin(), keys.end(), entry.key) == keys.end())
    fail(ErrorCode::usage, "{}:{}: unknown key '{}'{}", file, entry.line, entry.key, did_you_mean(entry.key, keys));
  check(!entry.values.empty(), "{}:{}: '{}' is an empty array", file, entry.line, entry.key);
}

// Reads and writes the configuration file for CLI11, which asks it before it looks at the environment.
class TomlConfig final : public CLI::Config {
 public:
  TomlConfig(const CLI::App& app, std::string section) : app_(app), section_(std::move(section)) {}

  std::vector<CLI::ConfigItem> from_config(std::istream& input) const override {
    const std::string text{std::istreambuf_iterator<char>(input), {}};
    const auto file = app_.get_config_ptr()->as<std::string>();
    std::vector<TomlEntry> entries = parse_toml(text, file);
    for (const TomlEntry& entry : entries) {
      check_section(entry, file);
      if (entry.section.empty() || entry.section == section_) check_key(app_, entry, file);
    }
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
  void check_section(const TomlEntry& entry, const std::string& file) const {
    std::vector<std::string> sections;
    for (const Command& command : commands()) sections.push_back(section_name(command.name));
    sections.push_back(section_);
    if (!entry.section.empty() && std::find(sections.begin(), sections.end(), entry.section) == sections.end()) {
      fail(ErrorCode::usage, "{}:{}: unknown section '{}'{}", file, entry.line, entry.section,
           did_you_mean(entry.section, sections));
    }
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

}  // namespace

std::string variable_name(const std::string& option) {
  std::string name = "LOCKRING_";
  for (const char c : option) name += c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return name;
}

bool is_set(const std::string& variable) {
  const char* value = std::getenv(variable.c_str());
  return value != nullptr && *value != '\0';
}

std::shared_ptr<CLI::Config> config_file(const CLI::App& app, const std::string& command) {
  return std::make_shared<TomlConfig>(app, section_name(command));
}

void apply_defaults(CLI::App& app, const std::string& text, const std::string& name) {
  for (const TomlEntry& entry : parse_toml(text, name)) {
    check_key(app, entry, name);
    CLI::Option* option = app.get_option("--" + entry.key);
    if (option->count() > 0) continue;
    option->add_result(entry.values);
    option->run_callback();
  }
  check_values(app);
}

std::string config_text(const CLI::App& app) { return app.config_to_str(true); }

}  // namespace lockring::app
