// A command as a child process, whose words on stderr are passed on and listened to.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace lockring::app {

// While it lives, SIGINT and SIGTERM are noted, not acted on. One at a time.
class NotedSignals {
 public:
  NotedSignals();
  ~NotedSignals();
  NotedSignals(const NotedSignals&) = delete;
  NotedSignals& operator=(const NotedSignals&) = delete;

  // The last one; 0 if none has come.
  static int received();
  // Sleeps, at most until a signal comes.
  static void sleep(double seconds);
};

// Runs `words` to their end and returns the exit code, or 128 + the signal that ended it. Noted signals are passed on
// to it, a second one of a kind too; it ends with this process, however that ends. Its stderr goes to ours; `line` gets
// each line, without its end. Throws Error{usage} if there is no such program, Error{other} if the system does not
// start it.
int run_child(const std::vector<std::string>& words, const std::function<void(std::string_view line)>& line);

}  // namespace lockring::app
