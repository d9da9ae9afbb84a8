#include "apps/append_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace lockring::app {
namespace {

// Adds to a file of `before` bytes. 0, or the error's number; what was written of the bytes is then taken back.
int write_all(int file, off_t before, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = write(file, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      const int error = errno;
      [[maybe_unused]] const int taken_back = ftruncate(file, before);  // devices cannot, and need not
      return error;
    }
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return 0;
}

}  // namespace

std::string append_whole(const std::filesystem::path& path, std::string_view piece, IfMissing missing) {
  const int create = missing == IfMissing::create ? O_CREAT : 0;
  const int file = open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC | create, 0666);
  if (file < 0) return std::strerror(errno);
  struct stat before {};
  int error = fstat(file, &before) == 0 ? write_all(file, before.st_size, piece) : errno;
  if (close(file) != 0 && error == 0) error = errno;
  return error == 0 ? "" : std::strerror(error);
}

}  // namespace lockring::app
