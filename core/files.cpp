#include "core/files.h"

#include "core/error.h"

#include <fcntl.h>
#include <openssl/evp.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

namespace lockring {
namespace {

[[noreturn]] void fail_with_errno(std::string_view doing, const std::filesystem::path& path) {
  const int error = errno;
  fail(ErrorCode::data, "cannot {} {}: {}", doing, path.string(), std::strerror(error));
}

// Unique among processes and within this one.
std::filesystem::path temporary_name(const std::filesystem::path& target) {
  static std::atomic<int> counter{0};
  std::filesystem::path path = target;
  path += ".tmp." + std::to_string(getpid()) + "." + std::to_string(counter.fetch_add(1));
  return path;
}

void sync_folder(const std::filesystem::path& folder) {
  const int file = open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (file < 0) return;
  fsync(file);
  close(file);
}

}  // namespace

AtomicFile::AtomicFile(std::filesystem::path target) : target_(std::move(target)), temporary_(temporary_name(target_)) {
  std::error_code ignored;  // what is wrong with a path will show
  check(!std::filesystem::is_other(target_, ignored), ErrorCode::data, "cannot write {}: it is no regular file",
        target_.string());
  file_ = open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (file_ < 0) fail_with_errno("write", target_);
}

AtomicFile::~AtomicFile() {
  if (file_ >= 0) close(file_);
  if (!temporary_.empty()) unlink(temporary_.c_str());
}

void AtomicFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail_with_errno("write", target_);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

void AtomicFile::commit(Sync sync) {
  if (sync == Sync::now && fsync(file_) != 0) fail_with_errno("write", target_);
  const int file = std::exchange(file_, -1);
  if (close(file) != 0) fail_with_errno("write", target_);
  if (rename(temporary_.c_str(), target_.c_str()) != 0) fail_with_errno("write", target_);
  temporary_.clear();
  if (sync == Sync::now) sync_folder(target_.parent_path());
}

void write_file(const std::filesystem::path& path, std::string_view text, Sync sync) {
  AtomicFile file(path);
  file.write(text);
  file.commit(sync);
}

std::string read_file(const std::filesystem::path& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) fail_with_errno("read", path);
  std::string text;
  std::array<char, 1 << 16> buffer;
  ssize_t count = 0;
  while ((count = read(file, buffer.data(), buffer.size())) != 0) {
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) break;
    text.append(buffer.data(), static_cast<std::size_t>(count));
  }
  const int error = errno;
  close(file);
  errno = error;
  if (count < 0) fail_with_errno("read", path);
  return text;
}

std::string read_file_or_nothing(const std::filesystem::path& path) {
  try {
    return read_file(path);
  } catch (const Error&) {
    return "";
  }
}

Sha256::Sha256() : context_(EVP_MD_CTX_new()) {
  EVP_DigestInit_ex(static_cast<EVP_MD_CTX*>(context_), EVP_sha256(), nullptr);
}
Sha256::~Sha256() { EVP_MD_CTX_free(static_cast<EVP_MD_CTX*>(context_)); }

void Sha256::update(std::span<const std::byte> bytes) {
  EVP_DigestUpdate(static_cast<EVP_MD_CTX*>(context_), bytes.data(), bytes.size());
}

std::string Sha256::hex() {
  std::array<unsigned char, 32> digest;
  EVP_DigestFinal_ex(static_cast<EVP_MD_CTX*>(context_), digest.data(), nullptr);
  std::string text;
  for (const unsigned char byte : digest) text += fmt::format("{:02x}", byte);
  return text;
}

std::string sha256(std::string_view bytes) {
  Sha256 digest;
  digest.update(std::as_bytes(std::span(bytes)));
  return digest.hex();
}

}  // namespace lockring
