#include "apps/parse.h"

#include "apps/config_file.h"
#include "apps/option_values.h"
#include "apps/terminal.h"
#include "core/error.h"
#include "core/text.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <utility>

namespace lockring::app {
namespace {

constexpr char kConfigVariable[] = "LOCKRING_CONFIG";

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
  app.config_formatter(config_file(app, command.name));
}

void check_no_extras(const CLI::App& app) {
  std::vector<std::string> extras = app.remaining();
  std::erase(extras, "--");
  if (extras.empty()) return;
  const std::string& extra = extras.front();
  if (!extra.starts_with('-')) fail(ErrorCode::usage, "unexpected argument '{}'", extra);
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  const std::string name = extra.substr(0, extra.find('='));
  // Behind "--" even an option's name is an argument.
  if (std::ranges::find(names, name) != names.end()) fail(ErrorCode::usage, "unexpected argument '{}'", extra);
  fail(ErrorCode::usage, "unknown option '{}'{}", name, did_you_mean(name, names));
}

// CLI11's errors in our words where its own are unclear.
[[noreturn]] void fail_parse(const CLI::App& app, const Command& command, const CLI::ParseError& error) {
  check_no_extras(app);
  check_values(app);
  std::string message = error.what();
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr) {
    const std::string name = message.substr(0, message.find(':'));
    const CLI::Option* option = app.get_option_no_throw(name);
    if (option != nullptr) message = fmt::format("{}: expected one value, found {}", name, option->count());
  }
  fail(ErrorCode::usage, "{}; see 'lockring {} --help'", message, command.name);
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
    fail_parse(*app, command, error);
  }
  check_no_extras(*app);
  check_values(*app);
  return [app, action = std::move(action)] { return action(); };
}

}  // namespace lockring::app
