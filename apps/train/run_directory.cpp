#include "apps/train/run_directory.h"

#include "apps/append_file.h"
#include "core/error.h"
#include "core/files.h"
#include "core/text.h"

#include <nlohmann/json.hpp>

#include <fstream>
#include <system_error>
#include <utility>
#include <vector>

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

void make(const fs::path& path) {
  if (path.has_parent_path()) fs::create_directories(path.parent_path());
  check(fs::create_directory(path), "{} exists already; another run has just made it", path.string());
}

// "runs/a/" and "runs/a" are one folder.
fs::path without_slash(const fs::path& path) {
  return path.has_filename() || !path.has_parent_path() ? path : path.parent_path();
}

// Temporary files of AtomicFile whose process was killed.
void remove_leftovers(const fs::path& folder) {
  std::vector<fs::path> leftovers;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder))
    if (entry.path().filename().string().find(".tmp.") != std::string::npos && entry.is_regular_file())
      leftovers.push_back(entry.path());
  for (const fs::path& leftover : leftovers) fs::remove(leftover);
}

// The epoch of a line of metrics; 0 if the line is not whole.
std::int64_t epoch_of(const std::string& line) {
  const nlohmann::json json = nlohmann::json::parse(line, nullptr, false);
  if (!json.is_object() || !json.contains("epoch") || !json["epoch"].is_number_integer()) return 0;
  return json["epoch"].get<std::int64_t>();
}

}  // namespace

RunDirectory::RunDirectory(const fs::path& wanted, std::string prefix, bool resume, Warn warn)
    : path_(without_slash(wanted)), prefix_(std::move(prefix)), own_(true), resume_(resume), warn_(std::move(warn)) {
  if (resume) {
    check_resumable();
    lock();
  } else {
    check_free();
  }
}

RunDirectory RunDirectory::of_another() { return {}; }

void RunDirectory::check_resumable() const {
  check(!path_.empty(), "--resume needs the --run-dir of the run to go on with");
  std::error_code error;
  const bool found = fs::exists(last(), error);
  check(!error, ErrorCode::data, "cannot look into {}: {}", path_.string(), error.message());
  check(found, "there is no last.safetensors in {} to resume from", path_.string());
}

void RunDirectory::check_free() const {
  std::error_code ignored;  // open() will tell what is wrong with a path that cannot be looked at
  if (!fs::exists(path_, ignored)) return;
  const bool resumable = fs::exists(last(), ignored);
  fail(ErrorCode::usage, "{} exists already; give {}another --run-dir", path_.string(),
       resumable ? "--resume to go on with it, or " : "");
}

void RunDirectory::open() {
  if (!own_) return;
  try {
    if (resume_) return remove_leftovers(path_);
    if (path_.empty()) {
      path_ = make_next(prefix_);
    } else {
      make(path_);
    }
    lock();
  } catch (const fs::filesystem_error& error) {
    fail(ErrorCode::data, "cannot {} the run directory {}: {}", resume_ ? "clean up" : "make", error.path1().string(),
         error.code().message());
  }
}

void RunDirectory::lock() {
  check(lock_.take(path_), ErrorCode::usage, "another process is training in {}", path_.string());
}

void RunDirectory::append_metrics(const std::string& json_line) { append("metrics.jsonl", json_line); }

void RunDirectory::log(std::string_view line) { append("log.txt", printable(line)); }

void RunDirectory::append(const std::string& name, std::string_view line) {
  if (!own_) return;
  const fs::path path = path_ / name;
  const std::string reason = append_whole(path, std::string(line) + '\n', IfMissing::create);
  if (!reason.empty()) warn_once(name, fmt::format("cannot write {}: {}", path.string(), reason));
}

void RunDirectory::keep_metrics(std::int64_t epochs) {
  if (!own_) return;
  std::ifstream file(path_ / "metrics.jsonl");
  std::string kept;
  std::set<std::int64_t> seen;
  for (std::string line; std::getline(file, line);) {
    const std::int64_t epoch = epoch_of(line);
    if (epoch >= 1 && epoch <= epochs && seen.insert(epoch).second) kept += line + "\n";
  }
  write("metrics.jsonl", kept);
}

void RunDirectory::write(const std::string& name, std::string_view text) {
  if (!own_) return;
  try {
    write_file(path_ / name, text);
  } catch (const Error& error) {
    warn_once(name, error.what());
  }
}

void RunDirectory::warn_once(const std::string& name, const std::string& message) {
  if (warned_.insert(name).second) warn_(message + "; training goes on without it");
}

}  // namespace lockring::app
