#include "distributed/shared_memory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>

namespace lockring::dist {
namespace {

// At once: running out later would end the process with a bus error.
bool reserve(int file, std::int64_t bytes) {
  if (ftruncate(file, bytes) != 0) return false;
  int error = EINTR;  // by any signal
  while (error == EINTR) error = posix_fallocate(file, 0, bytes);
  return error == 0;
}

// More than the machine has would have the system end processes before it says no.
int make_file(std::int64_t bytes) {
  if (bytes / sysconf(_SC_PAGESIZE) >= sysconf(_SC_PHYS_PAGES)) return -1;
  const int file = memfd_create("lockring", MFD_CLOEXEC);
  if (file >= 0 && !reserve(file, bytes)) {
    close(file);
    return -1;
  }
  return file;
}

std::byte* map_file(int file, std::int64_t bytes) {
  if (file < 0) return nullptr;
  void* memory = mmap(nullptr, static_cast<std::size_t>(bytes), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  return memory == MAP_FAILED ? nullptr : static_cast<std::byte*>(memory);
}

}  // namespace

// The first rank makes a file without a name; the others open it through that process's list of open files.
std::shared_ptr<std::byte> share_memory(Communicator& node, std::int64_t bytes) {
  int file = node.rank() == 0 ? make_file(bytes) : -1;
  double where[] = {node.rank() == 0 ? static_cast<double>(getpid()) : 0, node.rank() == 0 ? file + 1.0 : 0};
  node.all_reduce(std::span<double>(where));
  const auto number = static_cast<int>(where[1]) - 1;
  if (node.rank() != 0 && number >= 0)
    file = open(fmt::format("/proc/{}/fd/{}", static_cast<int>(where[0]), number).c_str(), O_RDWR | O_CLOEXEC);
  std::byte* memory = map_file(file, bytes);
  double failed[] = {memory == nullptr ? 1.0 : 0.0};
  node.all_reduce(std::span<double>(failed));  // and nobody closes before all have opened
  if (file >= 0) close(file);
  const auto unmap = [bytes](std::byte* mapped) {
    if (mapped != nullptr) munmap(mapped, static_cast<std::size_t>(bytes));
  };
  std::shared_ptr<std::byte> shared(memory, unmap);
  return failed[0] == 0 ? shared : nullptr;
}

}  // namespace lockring::dist
