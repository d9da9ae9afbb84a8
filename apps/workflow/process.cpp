#include "apps/workflow/process.h"

#include "core/error.h"
#include "core/files.h"
#include "core/text.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>
#include <thread>

extern char** environ;

namespace lockring::app::workflow {
namespace fs = std::filesystem;
namespace {

std::vector<char*> pointers(const std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (const std::string& word : words) pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

bool is_program(const fs::path& path) {
  std::error_code ignored;
  return access(path.c_str(), X_OK) == 0 && fs::is_regular_file(path, ignored);
}

// Where exec would find a program: looked up here, since the child may not allocate. What was found is looked at first
// the next time.
std::string find_program(const std::string& name) {
  if (name.find('/') != std::string::npos) return name;
  const char* variable = std::getenv("PATH");
  const std::string path = variable == nullptr ? "/usr/local/bin:/usr/bin:/bin" : variable;
  thread_local std::map<std::string, std::string> found;
  std::string& known = found[path + ':' + name];
  if (!known.empty() && is_program(known)) return known;
  std::string_view rest = path;
  while (true) {
    const std::size_t colon = rest.find(':');
    known = (fs::path(rest.substr(0, colon)) / name).string();
    if (is_program(known)) return known;
    if (colon == std::string_view::npos) break;
    rest.remove_prefix(colon + 1);
  }
  known.clear();
  fail(ErrorCode::data, "there is no program '{}' in PATH", printable(name));
}

// Between vfork and exec: shares the parent's memory, so it only makes system calls. Returns why it failed.
int become(const char* program, char* const* arguments, char* const* environment, int log, pid_t parent) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(127);  // it died before this was set
  for (const int number : {SIGPIPE, SIGXFSZ, SIGINT, SIGTERM}) ::signal(number, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  const int null = open("/dev/null", O_RDONLY);
  if (null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(log, STDOUT_FILENO) < 0 || dup2(log, STDERR_FILENO) < 0)
    return errno;
  if (null > STDERR_FILENO) close(null);
  execve(program, arguments, environment);
  return errno;
}

// As fork and exec, but without a copy of this process's page tables, however large it is.
pid_t spawn(const std::string& program, const Launch& launch) {
  const std::vector<char*> arguments = pointers(launch.command);
  const std::vector<char*> environment = pointers(launch.environment);
  const pid_t parent = getpid();
  volatile int error = 0;
  const pid_t child = vfork();
  if (child == 0) {
    error = become(program.c_str(), arguments.data(), environment.data(), launch.log, parent);
    _exit(127);
  }
  if (child < 0) error = errno;
  if (child > 0 && error != 0) waitpid(child, nullptr, 0);
  check(error == 0, ErrorCode::data, "cannot start '{}': {}", printable(launch.command[0]), std::strerror(error));
  return child;
}

std::vector<pid_t> marked(const std::string& mark) {
  std::vector<pid_t> found;
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator("/proc", ignored)) {
    const std::string name = entry.path().filename().string();
    pid_t id = 0;
    if (std::from_chars(name.data(), name.data() + name.size(), id).ec != std::errc() || id == getpid()) continue;
    const std::string environment = '\0' + read_file_or_nothing(entry.path() / "environ");
    if (environment.find('\0' + mark + '\0') != std::string::npos) found.push_back(id);
  }
  return found;
}

}  // namespace

std::string Ending::text() const {
  return signal == 0 ? fmt::format("exit code {}", code) : fmt::format("signal {} ({})", signal, strsignal(signal));
}

std::vector<std::string> environment_with(const std::vector<std::pair<std::string, std::string>>& variables,
                                          const std::string& without) {
  std::vector<std::string> environment;
  for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    const std::string_view name = text.substr(0, text.find('='));
    const auto is_set = [&](const auto& one) { return one.first == name; };
    if ((!without.empty() && name.starts_with(without)) || std::ranges::any_of(variables, is_set)) continue;
    environment.emplace_back(text);
  }
  for (const auto& [name, value] : variables) environment.push_back(name + "=" + value);
  return environment;
}

Process::Process(const Launch& launch)
    : id_(spawn(find_program(launch.command[0]), launch)),
      descriptor_(static_cast<int>(syscall(SYS_pidfd_open, id_, 0))) {}

Process::~Process() {
  if (!ended_) {
    signal(SIGKILL);
    waitpid(id_, nullptr, 0);
  }
  if (descriptor_ >= 0) close(descriptor_);
}

std::optional<Ending> Process::poll() {
  siginfo_t seen{};
  // Looked at before it is reaped: as long as it is there, nobody else can have its group's number.
  if (waitid(P_PID, static_cast<id_t>(id_), &seen, WEXITED | WNOHANG | WNOWAIT) != 0 || seen.si_pid == 0)
    return std::nullopt;
  signal(SIGKILL);
  int status = 0;
  waitpid(id_, &status, 0);
  ended_ = true;
  return WIFEXITED(status) ? Ending{WEXITSTATUS(status), 0} : Ending{0, WTERMSIG(status)};
}

void Process::signal(int number) const { ::kill(-id_, number); }

void wait_for(const std::vector<int>& descriptors, std::chrono::milliseconds most) {
  std::vector<pollfd> waits;
  bool blind = false;
  for (const int descriptor : descriptors) {
    if (descriptor >= 0) waits.push_back({descriptor, POLLIN, 0});
    blind |= descriptor < 0;
  }
  constexpr std::chrono::milliseconds kLook{5};  // where the kernel cannot tell
  ::poll(waits.data(), waits.size(), static_cast<int>((blind ? std::min(most, kLook) : most).count()));
}

int kill_marked(const std::string& name, const std::string& value) {
  constexpr int kRounds = 500;
  constexpr std::chrono::milliseconds kPause{10};
  std::set<pid_t> seen;
  for (int round = 0; round < kRounds; ++round) {
    const std::vector<pid_t> found = marked(name + "=" + value);
    if (found.empty()) break;
    for (const pid_t id : found) ::kill(id, SIGKILL);
    seen.insert(found.begin(), found.end());
    std::this_thread::sleep_for(kPause);
  }
  return static_cast<int>(seen.size());
}

int free_port() {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  const bool bound = socket >= 0 && bind(socket, reinterpret_cast<sockaddr*>(&address), size) == 0 &&
                     getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size) == 0;
  if (socket >= 0) close(socket);
  check(bound, ErrorCode::device, "cannot find a free port: {}", std::strerror(errno));
  return ntohs(address.sin_port);
}

}  // namespace lockring::app::workflow
