// lockring launch: starts a job, and when it fails, starts it again from its last checkpoint on the hosts that are
// left.
#include "apps/cluster/child.h"
#include "apps/cluster/failed_hosts.h"
#include "apps/cluster/launch_command.h"
#include "apps/command.h"
#include "apps/option_values.h"
#include "apps/shell_word.h"
#include "apps/terminal.h"
#include "core/error.h"
#include "core/files.h"
#include "core/stopwatch.h"
#include "core/text.h"

#include <unistd.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>

namespace lockring::app {
namespace {

namespace fs = std::filesystem;

struct Options {
  int restarts = 0;
  double backoff = 2;
  std::vector<std::string> command;
};

void say(const std::string& text) { std::fprintf(stderr, "launch: %s\n", printable(text).c_str()); }

std::string command_text(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + shell_word(word);
  return text;
}

// Of a program of ours: what would only fail again.
bool is_final(int code) {
  return code == exit_code(ErrorCode::usage) || code == exit_code(ErrorCode::data) ||
         code == exit_code(ErrorCode::diverged);
}

// One job, over all its attempts.
class Launch {
 public:
  explicit Launch(const Options& options)
      : options_(options),
        command_(options.command),
        run_directory_(command_.run_directory()),
        hostfile_(fs::temp_directory_path() / fmt::format("lockring-hosts-{}", getpid())) {
    check(!command_.trains() || options.restarts == 0 || !run_directory_.empty(),
          "give lockring train a --run-dir, so that a restart finds its checkpoint");
  }
  ~Launch() {
    std::error_code ignored;
    fs::remove(hostfile_, ignored);
  }
  Launch(const Launch&) = delete;
  Launch& operator=(const Launch&) = delete;

  int run() {
    const NotedSignals signals;
    for (int attempt = 1;; ++attempt) {
      const int code = try_once(attempt);
      if (code == 0) {
        if (attempt > 1) say(fmt::format("attempt {} has finished the job", attempt));
        return 0;
      }
      if (const int signal = NotedSignals::received(); signal != 0) {
        say(fmt::format("stopped by signal {}", signal));
        return 128 + signal;
      }
      if (is_final(code) && command_.trains()) {
        say(fmt::format("exit code {}: it would fail again, so it is not started again", code));
        return code;
      }
      if (attempt > options_.restarts) {
        say("gave up after " + counted(attempt, "attempt"));
        return code;
      }
      wait(attempt);
      if (const int signal = NotedSignals::received(); signal != 0) return 128 + signal;
    }
  }

 private:
  int try_once(int attempt) {
    const bool resume = has_checkpoint();
    if (!resume && attempt > 1) set_aside();
    const std::vector<std::string> words = command_.words(resume, hostfile_);
    if (std::ranges::count(words, hostfile_.string()) > 0) write_file(hostfile_, hostfile_text(command_.hosts()));
    say(fmt::format("attempt {} of {}{}: {}", attempt, options_.restarts + 1,
                    resume ? fmt::format(", from the checkpoint in {}", run_directory_.string()) : "",
                    command_text(words)));
    FailureScan scan;
    const auto start = std::chrono::steady_clock::now();
    const int code = run_child(words, [&](std::string_view line) { scan.line(line); });
    if (code == 0) return 0;
    say(fmt::format("attempt {} ended after {} with exit code {}", attempt, duration_text(seconds_since(start)), code));
    for (const HostFailure& failure : scan.failures()) note_failure(failure);
    return code;
  }

  void note_failure(const HostFailure& failure) {
    if (command_.drop_host(failure.host)) {
      std::vector<std::string> left;
      for (const LaunchHost& host : command_.hosts()) left.push_back(host.name);
      say(fmt::format("host {}: {}; it is left out, and there are still {}", failure.host, failure.reason,
                      joined(left)));
    } else {
      say(fmt::format("host {}: {}", failure.host, failure.reason));
    }
  }

  bool has_checkpoint() const {
    std::error_code ignored;
    return !run_directory_.empty() && fs::exists(run_directory_ / "last.safetensors", ignored);
  }

  // A run that ended before its first checkpoint has left a folder in which no other can begin.
  void set_aside() const {
    std::error_code ignored;
    if (run_directory_.empty() || !fs::exists(run_directory_, ignored)) return;
    for (int number = 1;; ++number) {
      const fs::path aside = run_directory_.string() + fmt::format(".failed-{}", number);
      if (fs::exists(aside, ignored)) continue;
      fs::rename(run_directory_, aside, ignored);
      say(fmt::format("{} holds no checkpoint; it is now {}", run_directory_.string(), aside.string()));
      return;
    }
  }

  // Twice as long each time: what is wrong with a host or a network may pass.
  void wait(int attempt) const {
    constexpr double kLongest = 300;
    constexpr int kMostDoublings = 20;
    const double seconds = std::min(options_.backoff * static_cast<double>(1 << std::min(attempt - 1, kMostDoublings)),
                                    std::max(kLongest, options_.backoff));
    say(fmt::format("starting again in {}", duration_text(seconds)));
    NotedSignals::sleep(seconds);
  }

  const Options& options_;
  LaunchCommand command_;
  fs::path run_directory_;
  fs::path hostfile_;
};

}  // namespace

Action launch(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("--restarts", options->restarts, "starts at most, besides the first")->check(within(0, 1e6));
  app.add_option("--backoff", options->backoff, "seconds before the first restart; twice as many before each next")
      ->check(within(0, 86400));
  app.add_option("command", options->command, "what starts the job, after --")->configurable(false);
  app.footer(
      "Example:\n  lockring launch --restarts 3 -- mpirun -np 8 --hostfile hosts lockring train --run-dir runs/big");
  return [options] { return Launch(*options).run(); };
}

}  // namespace lockring::app
