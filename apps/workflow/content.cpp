#include "apps/workflow/content.h"

#include "core/error.h"
#include "core/files.h"

#include <fcntl.h>
#include <fnmatch.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace lockring::app::workflow {
namespace fs = std::filesystem;
namespace {

struct Hashed {
  std::string digest;
  std::int64_t bytes = 0;
};

// Piece by piece: a file may be larger than memory.
Hashed hash_file(const fs::path& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  check(file >= 0, ErrorCode::data, "cannot read {}: {}", path.string(), std::strerror(errno));
  Sha256 digest;
  Hashed hashed;
  std::array<std::byte, 1 << 17> buffer;
  ssize_t count = 0;
  while ((count = read(file, buffer.data(), buffer.size())) != 0) {
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) break;
    digest.update(std::span(buffer).first(static_cast<std::size_t>(count)));
    hashed.bytes += count;
  }
  const int error = errno;
  close(file);
  check(count == 0, ErrorCode::data, "cannot read {}: {}", path.string(), std::strerror(error));
  hashed.digest = digest.hex();
  return hashed;
}

bool is_executable(const fs::path& path) {
  struct stat status {};
  return stat(path.c_str(), &status) == 0 && (status.st_mode & S_IXUSR) != 0;
}

bool counts(const std::string& name, const std::vector<std::string>& identity) {
  bool listed = std::ranges::all_of(identity, [](const std::string& one) { return one.starts_with('!'); });
  for (const std::string& pattern : identity) {
    const bool excludes = pattern.starts_with('!');
    if (fnmatch(pattern.c_str() + (excludes ? 1 : 0), name.c_str(), 0) != 0) continue;
    if (excludes) return false;
    listed = true;
  }
  return listed;
}

std::vector<fs::path> files_below(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder))
    if (entry.is_symlink() || !entry.is_directory()) files.push_back(entry.path());
  std::ranges::sort(files);
  return files;
}

Content folder_content(const fs::path& folder, const std::vector<std::string>& identity) {
  Content content;
  Sha256 all;
  Sha256 counted;
  for (const fs::path& path : files_below(folder)) {
    const std::string name = path.lexically_relative(folder).string();
    std::string line;
    if (fs::is_symlink(path)) {
      line = "link " + fs::read_symlink(path).string();
    } else {
      check(fs::is_regular_file(path), ErrorCode::data, "{} is neither a file nor a folder", path.string());
      const Hashed hashed = hash_file(path);
      content.bytes += hashed.bytes;
      line = (is_executable(path) ? "program " : "file ") + hashed.digest;
    }
    line += ' ' + name + '\0';
    const auto bytes = std::as_bytes(std::span(line));
    all.update(bytes);
    if (counts(name, identity)) counted.update(bytes);
  }
  content.digest = all.hex();
  content.identity = counted.hex();
  return content;
}

}  // namespace

Content content_of(const fs::path& path, const std::vector<std::string>& identity) {
  try {
    check(fs::exists(path), ErrorCode::data, "{} is not there", path.string());
    if (fs::is_directory(path)) return folder_content(path, identity);
    check(fs::is_regular_file(path), ErrorCode::data, "{} is neither a file nor a folder", path.string());
    const Hashed hashed = hash_file(path);
    return {hashed.digest, hashed.digest, hashed.bytes};
  } catch (const fs::filesystem_error& error) {
    fail(ErrorCode::data, "cannot read {}: {}", error.path1().string(), error.code().message());
  }
}

Content content_of_text(const std::string& text) {
  const std::string digest = sha256(text);
  return {digest, digest, static_cast<std::int64_t>(text.size())};
}

}  // namespace lockring::app::workflow
