#include "apps/cluster/child.h"

#include "core/error.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>

namespace lockring::app {
namespace {

constexpr int kSignals[] = {SIGINT, SIGTERM};
std::atomic<int> noted{0};
std::atomic<unsigned> times_noted{0};

extern "C" void note(int signal) {
  noted.store(signal);
  ++times_noted;
}

void handle_with(void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;  // without SA_RESTART: who sleeps or reads wakes up
  for (const int signal : kSignals) sigaction(signal, &action, nullptr);
}

// In the child, between fork and exec: only what is safe there. Tells `errors` why it could not start.
[[noreturn]] void become(char* const* words, int errors, int standard_error, pid_t parent) {
  setpgid(0, 0);  // the terminal's signals come through the parent only
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  handle_with(SIG_DFL);
  const int nothing = open("/dev/null", O_RDONLY);
  if (nothing >= 0) dup2(nothing, STDIN_FILENO);
  if (getppid() == parent && dup2(standard_error, STDERR_FILENO) >= 0) execvp(words[0], words);
  const int why = errno;
  if (write(errors, &why, sizeof why) < 0) _exit(126);
  _exit(127);
}

class Pipe {
 public:
  Pipe() {
    check(pipe2(ends_.data(), O_CLOEXEC) == 0, ErrorCode::other, "cannot make a pipe: {}", std::strerror(errno));
  }
  ~Pipe() {
    close_end(0);
    close_end(1);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  int out() const { return ends_[0]; }
  int in() const { return ends_[1]; }
  void close_in() { close_end(1); }

 private:
  void close_end(int end) {
    if (ends_[end] >= 0) close(ends_[end]);
    ends_[end] = -1;
  }

  std::array<int, 2> ends_{-1, -1};
};

void write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(file, text.data(), text.size());
    if (written < 0 && errno != EINTR) return;  // nobody listens any more
    if (written > 0) text.remove_prefix(static_cast<std::size_t>(written));
  }
}

// Passes on what comes until the last writer has gone.
void listen(int from, pid_t child, const std::function<void(std::string_view)>& line) {
  std::string unfinished;
  unsigned passed_on = 0;
  std::array<char, 4096> buffer{};
  for (;;) {
    if (const unsigned times = times_noted.load(); times != passed_on) {
      passed_on = times;
      kill(-child, noted.load());
    }
    pollfd wait{from, POLLIN, 0};
    if (poll(&wait, 1, 200) <= 0) continue;  // looks after signals that came between
    const ssize_t count = read(from, buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    const std::string_view text(buffer.data(), static_cast<std::size_t>(count));
    write_all(STDERR_FILENO, text);
    unfinished += text;
    for (std::size_t end; (end = unfinished.find('\n')) != std::string::npos; unfinished.erase(0, end + 1))
      line(std::string_view(unfinished).substr(0, end));
  }
  if (!unfinished.empty()) line(unfinished);
}

}  // namespace

NotedSignals::NotedSignals() {
  noted.store(0);
  times_noted.store(0);
  handle_with(note);
}

NotedSignals::~NotedSignals() { handle_with(SIG_DFL); }

int NotedSignals::received() { return noted.load(); }

void NotedSignals::sleep(double seconds) {
  // In short pieces: a signal may come between the question and the sleep.
  constexpr double kPiece = 0.1;
  for (; seconds > 0 && noted.load() == 0; seconds -= kPiece)
    poll(nullptr, 0, static_cast<int>(std::min(seconds, kPiece) * 1000));
}

int run_child(const std::vector<std::string>& words, const std::function<void(std::string_view line)>& line) {
  std::vector<char*> pointers;
  for (const std::string& word : words) pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  Pipe errors, output;
  const pid_t parent = getpid();
  const pid_t child = fork();
  check(child >= 0, ErrorCode::other, "cannot start {}: {}", words[0], std::strerror(errno));
  if (child == 0) become(pointers.data(), errors.in(), output.in(), parent);
  errors.close_in();
  output.close_in();
  int why = 0;
  const bool failed = read(errors.out(), &why, sizeof why) == sizeof why;
  if (!failed) listen(output.out(), child, line);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  check(!failed, why == ENOENT ? ErrorCode::usage : ErrorCode::other, "cannot start {}: {}", words[0],
        std::strerror(why));
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace lockring::app
