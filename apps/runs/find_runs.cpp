#include "apps/runs/run_record.h"
#include "core/error.h"
#include "core/text.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

namespace lockring::app {
namespace fs = std::filesystem;
namespace {

constexpr std::array<std::string_view, 7> kFiles = {
    "config.toml", "metrics.jsonl", "log.txt", "status.json", "summary.json", "last.safetensors", "best.safetensors"};

// "cnn-2" before "cnn-10".
bool natural_less(std::string_view a, std::string_view b) {
  const auto digits = [](std::string_view text) { return std::min(text.find_first_not_of("0123456789"), text.size()); };
  while (!a.empty() && !b.empty()) {
    const std::size_t in_a = digits(a);
    const std::size_t in_b = digits(b);
    if (in_a > 0 && in_b > 0 && in_a != in_b) return in_a < in_b;
    if (a.front() != b.front()) return a.front() < b.front();
    a.remove_prefix(1);
    b.remove_prefix(1);
  }
  return a.size() < b.size();
}

void visit(const fs::path& folder, std::vector<fs::path>& runs, std::vector<std::string>& problems) {
  if (is_run_directory(folder)) runs.push_back(folder);
  std::error_code error;
  std::vector<fs::path> inside;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    std::error_code ignored;
    const bool hidden = entry->path().filename().string().starts_with('.');
    if (!hidden && entry->is_directory(ignored) && !entry->is_symlink(ignored)) inside.push_back(entry->path());
  }
  if (error) problems.push_back(fmt::format("cannot look into {}: {}", folder.string(), error.message()));
  std::ranges::sort(inside, [](const fs::path& a, const fs::path& b) { return natural_less(a.native(), b.native()); });
  for (const fs::path& path : inside) visit(path, runs, problems);
}

}  // namespace

bool is_run_file(const std::string& name) {
  return std::ranges::find(kFiles, name) != kFiles.end() || name.starts_with("events.out.tfevents.");
}

bool is_run_directory(const fs::path& folder) {
  std::error_code ignored;
  return std::ranges::count_if(kFiles,
                               [&](std::string_view name) { return fs::is_regular_file(folder / name, ignored); }) >= 2;
}

std::vector<fs::path> find_runs(const fs::path& folder, std::vector<std::string>& problems) {
  std::error_code ignored;
  check(fs::is_directory(folder, ignored), "there is no folder {}; name the one that runs are in", folder.string());
  std::vector<fs::path> runs;
  visit(folder, runs, problems);
  return runs;
}

fs::path named_run(const std::string& name) {
  std::error_code ignored;
  for (const fs::path& path : {fs::path(name), fs::path("runs") / name})
    if (is_run_directory(path)) return path.has_filename() ? path : path.parent_path();
  check(!fs::exists(name, ignored), "{} is not the directory of a run: it holds less than two of {}", name,
        joined(std::vector<std::string>(kFiles.begin(), kFiles.end())));
  const fs::path parent = fs::path(name).has_parent_path() ? fs::path(name).parent_path() : "runs";
  std::vector<std::string> known;
  std::vector<std::string> problems;
  if (fs::is_directory(parent, ignored))
    for (const fs::path& run : find_runs(parent, problems))
      known.push_back(parent == "runs" ? run.lexically_relative(parent).string() : run.string());
  fail(ErrorCode::usage, "there is no run '{}'{}", name, did_you_mean(name, known));
}

}  // namespace lockring::app
