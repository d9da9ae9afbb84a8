// The logs of attempts. Making a file costs more than a trivial step, so one that a step has left empty goes on, under
// another name, as the next step's.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace lockring::app::workflow {

class LogFiles {
 public:
  LogFiles() = default;
  ~LogFiles();
  LogFiles(const LogFiles&) = delete;
  LogFiles& operator=(const LogFiles&) = delete;

  struct Log {
    std::filesystem::path path;
    int file = -1;  // for appending; closed on exec
  };
  // Throws Error{data}.
  Log open(const std::filesystem::path& path);
  // After the step has ended.
  void close(const Log& log);

 private:
  std::vector<Log> empty_;
};

// What was written to a log behind its first `offset` bytes, in one line: "a; b". Long texts are cut.
std::string said_since(const std::filesystem::path& log, std::int64_t offset);

}  // namespace lockring::app::workflow
