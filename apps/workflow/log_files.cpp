#include "apps/workflow/log_files.h"

#include "core/error.h"
#include "core/text.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>

namespace lockring::app::workflow {

LogFiles::~LogFiles() {
  for (const Log& log : empty_) {
    ::close(log.file);
    unlink(log.path.c_str());
  }
}

LogFiles::Log LogFiles::open(const std::filesystem::path& path) {
  if (!empty_.empty()) {
    const Log spare = empty_.back();
    empty_.pop_back();
    if (renameat2(AT_FDCWD, spare.path.c_str(), AT_FDCWD, path.c_str(), RENAME_NOREPLACE) == 0)
      return {path, spare.file};
    ::close(spare.file);
    unlink(spare.path.c_str());
  }
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  check(file >= 0, ErrorCode::data, "cannot write {}: {}", path.string(), std::strerror(errno));
  return {path, file};
}

std::string said_since(const std::filesystem::path& log, std::int64_t offset) {
  constexpr std::size_t kMost = 200;
  std::ifstream file(log, std::ios::binary);
  file.seekg(offset);
  std::string said;
  for (std::string line; said.size() < kMost && std::getline(file, line);) {
    const std::size_t begin = line.find_first_not_of(" \t\r");
    if (begin != std::string::npos) said += (said.empty() ? "" : "; ") + line.substr(begin);
  }
  return printable(said.substr(0, kMost));
}

void LogFiles::close(const Log& log) {
  if (log.file < 0) return;
  struct stat status {};
  if (fstat(log.file, &status) == 0 && status.st_size == 0 && status.st_nlink == 1)
    empty_.push_back(log);
  else
    ::close(log.file);
}

}  // namespace lockring::app::workflow
