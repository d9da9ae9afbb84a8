#include "tests/fuzz/fuzz.h"

#include <sys/mman.h>
#include <unistd.h>

#include <string>

namespace lockring::fuzz {

const std::filesystem::path& memory_file(std::span<const std::string_view> parts) {
  static const int file = memfd_create("input", MFD_CLOEXEC);
  static const std::filesystem::path path = "/proc/self/fd/" + std::to_string(file);
  expect(ftruncate(file, 0) == 0, "a file in memory can be emptied");
  off_t at = 0;
  for (const std::string_view part : parts) {
    expect(pwrite(file, part.data(), part.size(), at) == static_cast<ssize_t>(part.size()), "and written");
    at += static_cast<off_t>(part.size());
  }
  return path;
}

}  // namespace lockring::fuzz
