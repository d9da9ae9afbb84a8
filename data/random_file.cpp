#include "data/random_file.h"

#include "core/error.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace lockring::data {

RandomFile::RandomFile(const std::filesystem::path& path) : path_(path) {
  // Opening a pipe that nobody writes to would wait for ever.
  file_ = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  check(file_ >= 0, ErrorCode::data, "cannot read {}: {}", path.string(), std::strerror(errno));
  struct stat status {};
  fstat(file_, &status);
  size_ = status.st_size;
  if (S_ISREG(status.st_mode)) return;
  close(file_);
  fail(ErrorCode::data, "cannot read {}: expected a file, found something else", path.string());
}

RandomFile::~RandomFile() { close(file_); }

void RandomFile::read(std::int64_t offset, std::span<std::byte> bytes) const {
  while (!bytes.empty()) {
    const ssize_t count = pread(file_, bytes.data(), bytes.size(), offset);
    if (count < 0 && errno == EINTR) continue;
    check(count >= 0, ErrorCode::data, "cannot read {} at byte {}: {}", path_.string(), offset, std::strerror(errno));
    check(count > 0, ErrorCode::data, "{}: truncated: expected {} more bytes at byte {}, found the end", path_.string(),
          bytes.size(), offset);
    bytes = bytes.subspan(static_cast<std::size_t>(count));
    offset += count;
  }
}

}  // namespace lockring::data
