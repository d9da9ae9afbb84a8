#include "apps/train/run_directory.h"

#include "core/error.h"
#include "core/files.h"

#include <fstream>
#include <iostream>
#include <system_error>

namespace lockring::app {
namespace fs = std::filesystem;
namespace {

// Makes the first of runs/PREFIX-1, -2, ... that does not exist yet; two processes never get the same.
fs::path make_next(const std::string& prefix) {
  fs::create_directories("runs");
  for (int number = 1;; ++number) {
    const fs::path path = fs::path("runs") / fmt::format("{}-{}", prefix, number);
    if (fs::create_directory(path)) return path;
  }
}

fs::path make(const fs::path& wanted, const std::string& prefix, bool resume) {
  if (resume) {
    check(!wanted.empty(), "--resume needs the --run-dir of the run to go on with");
    check(fs::exists(wanted / "last.safetensors"), "there is no last.safetensors in {} to resume from",
          wanted.string());
    return wanted;
  }
  if (wanted.empty()) return make_next(prefix);
  check(!fs::exists(wanted), "{} exists already; give --resume to go on with it, or another --run-dir",
        wanted.string());
  fs::create_directories(wanted);
  return wanted;
}

}  // namespace

RunDirectory::RunDirectory(const fs::path& wanted, const std::string& prefix, bool resume) {
  try {
    path_ = make(wanted, prefix, resume);
  } catch (const fs::filesystem_error& error) {
    fail(ErrorCode::data, "cannot make the run directory: {}", error.what());
  }
}

void RunDirectory::append_metrics(const std::string& json_line) { append("metrics.jsonl", json_line); }
void RunDirectory::log(std::string_view line) { append("log.txt", line); }

void RunDirectory::append(const std::string& name, std::string_view line) {
  std::ofstream file(path_ / name, std::ios::app);
  file << line << '\n' << std::flush;
  if (!file && !std::exchange(warned_, true))
    std::cerr << "lockring: cannot write " << (path_ / name).string() << "; the run goes on without it\n";
}

void RunDirectory::keep_metrics(std::int64_t lines) {
  std::ifstream file(path_ / "metrics.jsonl");
  std::string kept;
  for (std::string line; lines > 0 && std::getline(file, line); --lines) kept += line + "\n";
  write("metrics.jsonl", kept);
}

void RunDirectory::write(const std::string& name, std::string_view text) const { write_file(path_ / name, text); }

}  // namespace lockring::app
