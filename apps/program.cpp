#include "apps/program.h"

#include "apps/job.h"
#include "apps/parse.h"
#include "apps/terminal.h"
#include "core/error.h"
#include "core/text.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <new>

namespace lockring::app {
namespace {

bool is_group(const std::string& word) {
  return std::any_of(commands().begin(), commands().end(),
                     [&](const Command& command) { return command.name.starts_with(word + " "); });
}

// All commands, or those whose names begin with the word `group`.
int print_help(const std::string& group) {
  print("Lockring trains neural networks with replicas in lockstep.\n\nUsage: lockring {}COMMAND [OPTIONS]\n\n",
        group.empty() ? "" : group + " ");
  for (const Command& command : commands()) {
    if (group.empty() || command.name.starts_with(group + " ")) print("  {:<18} {}\n", command.name, command.summary);
  }
  print(
      "\n'lockring COMMAND --help' lists a command's options and shows an example. An option such as --batch-size can\n"
      "also be set by the variable LOCKRING_BATCH_SIZE, or by the key batch-size of a TOML file named by --config.\n"
      "'lockring --version' prints the version.\n");
  return 0;
}

[[noreturn]] void fail_unknown(const std::string& name) {
  std::vector<std::string> names;
  for (const Command& command : commands()) names.push_back(command.name);
  fail(ErrorCode::usage, "unknown command '{}'{}; 'lockring --help' lists them", name, did_you_mean(name, names));
}

// Finds the command in the first words and runs it on the rest.
int dispatch(const std::vector<std::string>& arguments) {
  const auto is_help = [](const std::string& word) { return word == "--help" || word == "-h" || word == "help"; };
  if (arguments.empty() || is_help(arguments[0])) return print_help("");
  if (arguments[0] == "--version") {
    print("lockring {}\n", version());
    return 0;
  }
  std::string name = arguments[0];
  std::size_t words = 1;
  for (; is_group(name); ++words) {
    if (arguments.size() == words || is_help(arguments[words])) return print_help(name);
    name += " " + arguments[words];
  }
  for (const Command& command : commands()) {
    if (command.name == name) return parse(command, {arguments.begin() + words, arguments.end()})();
  }
  fail_unknown(name);
}

// One line, whatever a file that was read put into the message. The others of a job would wait for this process; they
// end with it.
int complain(const char* message, int code) {
  std::fflush(stdout);
  print_notes();
  const std::string who = in_job() ? whole_job().place() + ": " : "";
  std::fprintf(stderr, "lockring: %s%s\n", who.c_str(), printable(message).c_str());
  if (in_job()) job().abort(code);
  return code;
}

// The output is complete only once it is flushed.
void flush_output() {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return;
  if (errno == EPIPE) return;
  fail(ErrorCode::other, "cannot write to standard output: {}", std::strerror(errno));
}

}  // namespace

std::string_view version() { return LOCKRING_VERSION; }

int run_program(const std::vector<std::string>& arguments) {
  std::signal(SIGPIPE, SIG_IGN);  // a reader that has gone is an error code of write, not the end of a training run
  std::signal(SIGXFSZ, SIG_IGN);  // and so is a file that has reached the limit of its size
  try {
    const int code = dispatch(arguments);
    flush_output();
    print_notes();
    leave_job();
    return code;
  } catch (const Error& error) {
    return complain(error.what(), exit_code(error.code()));
  } catch (const std::bad_alloc&) {
    return complain("out of memory", exit_code(ErrorCode::other));
  } catch (const std::exception& error) {
    return complain(error.what(), exit_code(ErrorCode::other));
  }
}

}  // namespace lockring::app
