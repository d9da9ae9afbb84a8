#include "apps/workflow/log_files.h"

#include "core/error.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace lockring::app::workflow {

LogFiles::~LogFiles() {
  for (const Log& log : empty_) {
    ::close(log.file);
    unlink(log.path.c_str());
  }
}

LogFiles::Log LogFiles::open(const std::filesystem::path& path) {
  if (!empty_.empty() && access(path.c_str(), F_OK) != 0) {
    const Log spare = empty_.back();
    empty_.pop_back();
    if (rename(spare.path.c_str(), path.c_str()) == 0) return {path, spare.file};
    ::close(spare.file);
  }
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  check(file >= 0, ErrorCode::data, "cannot write {}: {}", path.string(), std::strerror(errno));
  return {path, file};
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
