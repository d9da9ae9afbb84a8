// The processes of steps. Each leads a group of its own, which is ended as a whole; each carries the run's mark in its
// environment, by which what it left behind is found even if its group and parents are gone.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace lockring::app::workflow {

// How a process ended: its exit code, or the signal that killed it.
struct Ending {
  int code = 0;
  int signal = 0;

  bool good() const { return code == 0 && signal == 0; }
  // "exit code 3", "signal 9 (Killed)"
  std::string text() const;
};

struct Launch {
  std::vector<std::string> command;
  std::vector<std::string> environment;  // "NAME=VALUE", all of it
  int log = -1;                          // takes what it writes; the caller's
};

// The environment for a child: this process's with these variables set, and without those that begin with `without`.
std::vector<std::string> environment_with(const std::vector<std::pair<std::string, std::string>>& variables,
                                          const std::string& without = "");

// A running child. It gets SIGKILL should this process die without having ended it. For the thread that started it.
class Process {
 public:
  // Throws Error{data} if the program cannot be started.
  explicit Process(const Launch& launch);
  ~Process();  // kills the group
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  pid_t id() const { return id_; }
  // Becomes readable when the process ends; -1 where the kernel does not offer that.
  int descriptor() const { return descriptor_; }
  // How it ended, once it has. Whatever else is in its group is then killed.
  std::optional<Ending> poll();
  // To the whole group.
  void signal(int number) const;

 private:
  pid_t id_ = -1;
  int descriptor_ = -1;
  bool ended_ = false;
};

// Waits until a descriptor is readable, the time is over, or a signal comes.
void wait_for(const std::vector<int>& descriptors, std::chrono::milliseconds most);

// Kills all processes of this user whose environment has NAME=VALUE, and waits until they are gone, but not for longer
// than some seconds. Returns how many there were.
int kill_marked(const std::string& name, const std::string& value);

// A TCP port of the loopback interface that nobody uses at this moment.
int free_port();

}  // namespace lockring::app::workflow
