// What the ranks of a clique share where they are processes: a file in memory, named by the clique's id.
//
// Operations are numbered. A rank puts its bytes of one in once all have taken what came of the one before, and takes
// the result once all have put theirs in. Nothing here waits.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

namespace fake_cuda {

class SharedClique {
 public:
  // Any rank's process may be the first. The file goes when all have joined.
  SharedClique(std::string id, int ranks);
  ~SharedClique();
  SharedClique(const SharedClique&) = delete;
  SharedClique& operator=(const SharedClique&) = delete;

  void join(int rank);
  bool all_joined();

  // `what` says which operation it is. False: not yet.
  bool put(int rank, std::int64_t number, const std::string& what, const void* bytes, std::size_t size);
  bool all_put(std::int64_t number) const;
  const std::byte* bytes_of(int rank) const { return data_ + static_cast<std::size_t>(rank) * kMostBytes; }
  std::string what(int rank) const { return head_->ranks[rank].what; }
  void take(int rank, std::int64_t number) { head_->ranks[rank].taken = number + 1; }

 private:
  static constexpr int kMostRanks = 16;
  static constexpr std::size_t kMostBytes = std::size_t{128} << 20;  // of an operation; what is not used costs nothing

  struct Rank {
    std::atomic<bool> joined;
    std::atomic<std::int64_t> put, taken;  // operations
    char what[100];
  };
  struct Head {
    Rank ranks[kMostRanks];
  };

  std::size_t size() const { return sizeof(Head) + static_cast<std::size_t>(ranks_) * kMostBytes; }

  std::string path_;
  int ranks_;
  Head* head_;
  std::byte* data_;
};

}  // namespace fake_cuda
