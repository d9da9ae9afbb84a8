#include "apps/runs/remove_runs.h"

#include "apps/run_lock.h"
#include "apps/runs/run_record.h"
#include "apps/terminal.h"
#include "core/error.h"
#include "core/text.h"

#include <list>
#include <vector>

namespace lockring::app {
namespace fs = std::filesystem;
namespace {

void check_removable(const fs::path& run) {
  std::error_code ignored;
  check(!fs::is_symlink(run, ignored), "{} is a link; name the directory itself", run.string());
  std::vector<std::string> problems;
  const std::vector<fs::path> inside = find_runs(run, problems);
  check(inside.size() <= 1, "{} has other runs inside, such as {}", run.string(), inside.back().string());
}

// "runs/a (3.2 MiB)", "runs/a (3.2 MiB, with notes.txt, which is not of the run)"
std::string description(const fs::path& run) {
  std::vector<std::string> others;
  std::uintmax_t bytes = 0;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(run)) {
    std::error_code ignored;
    if (entry.is_regular_file(ignored)) bytes += entry.file_size(ignored);
    const fs::path name = entry.path().lexically_relative(run);
    if (!is_run_file(name.string())) others.push_back(name.string());
  }
  const std::string other = others.empty() ? "" : fmt::format(", with {}, which is not of the run", joined(others));
  return fmt::format("{} ({}{})", run.string(), bytes_text(static_cast<double>(bytes)), other);
}

}  // namespace

bool remove_runs(std::span<const fs::path> runs, const std::function<bool(const std::string&)>& confirm) {
  std::list<RunLock> locks;  // held until all are gone, so that no training begins meanwhile
  std::string what;
  try {
    for (const fs::path& run : runs) {
      check_removable(run);
      check(locks.emplace_back().take(run), "{} is being trained in", run.string());
      what += (what.empty() ? "" : "; ") + description(run);
    }
    if (!confirm(what)) return false;
    for (const fs::path& run : runs) fs::remove_all(run);
  } catch (const fs::filesystem_error& error) {
    fail(ErrorCode::data, "cannot remove {}: {}", error.path1().string(), error.code().message());
  }
  return true;
}

}  // namespace lockring::app
