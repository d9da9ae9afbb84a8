// A folder of its own for a test, gone with its contents when the test ends.
#pragma once

#include "core/error.h"

#include <cstdlib>
#include <filesystem>
#include <string>

namespace lockring {

class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string name = (std::filesystem::temp_directory_path() / "lockring.XXXXXX").string();
    check(mkdtemp(name.data()) != nullptr, ErrorCode::other, "cannot make a temporary directory like {}", name);
    path_ = name;
  }
  ~TemporaryDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

}  // namespace lockring
