#include "data/hashed_file.h"

namespace lockring::data {
namespace {

constexpr std::size_t kMostWaiting = std::size_t{1} << 20;

}  // namespace

HashedFile::HashedFile(const std::filesystem::path& path, Sha256& digest) : file_(path), digest_(digest) {}

void HashedFile::write(std::span<const std::byte> bytes) {
  waiting_.insert(waiting_.end(), bytes.begin(), bytes.end());
  bytes_ += static_cast<std::int64_t>(bytes.size());
  if (waiting_.size() >= kMostWaiting) flush();
}

void HashedFile::flush() {
  digest_.update(waiting_);
  checksum_.update(waiting_);
  file_.write(waiting_);
  waiting_.clear();
}

std::string HashedFile::commit() {
  flush();
  file_.commit();
  return checksum_.hex();
}

}  // namespace lockring::data
