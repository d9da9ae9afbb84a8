#include "tests/fake_cuda/nccl_shared.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace fake_cuda {

SharedClique::SharedClique(std::string id, int ranks) : path_("/tmp/" + id), ranks_(ranks) {
  assert(ranks <= kMostRanks);
  const int file = open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0 || ftruncate(file, static_cast<off_t>(size())) != 0) {
    std::perror(path_.c_str());
    std::abort();
  }
  void* memory = mmap(nullptr, size(), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file, 0);
  if (memory == MAP_FAILED) std::abort();
  close(file);
  head_ = static_cast<Head*>(memory);
  data_ = static_cast<std::byte*>(memory) + sizeof(Head);
}

SharedClique::~SharedClique() {
  munmap(head_, size());
  unlink(path_.c_str());
}

void SharedClique::join(int rank) { head_->ranks[rank].joined = true; }

bool SharedClique::all_joined() {
  if (!std::all_of(head_->ranks, head_->ranks + ranks_, [](const Rank& rank) { return rank.joined.load(); }))
    return false;
  unlink(path_.c_str());
  return true;
}

bool SharedClique::put(int rank, std::int64_t number, const std::string& what, const void* bytes, std::size_t size) {
  assert(size <= kMostBytes);
  if (!std::all_of(head_->ranks, head_->ranks + ranks_, [number](const Rank& r) { return r.taken >= number; }))
    return false;
  std::memcpy(data_ + static_cast<std::size_t>(rank) * kMostBytes, bytes, size);
  std::snprintf(head_->ranks[rank].what, sizeof(head_->ranks[rank].what), "%s", what.c_str());
  head_->ranks[rank].put = number + 1;
  return true;
}

bool SharedClique::all_put(std::int64_t number) const {
  return std::all_of(head_->ranks, head_->ranks + ranks_, [number](const Rank& r) { return r.put > number; });
}

}  // namespace fake_cuda
