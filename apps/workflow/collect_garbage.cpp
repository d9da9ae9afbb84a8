#include "apps/workflow/collect_garbage.h"

#include "apps/run_lock.h"
#include "apps/workflow/cache.h"
#include "apps/workflow/run_folder.h"
#include "core/error.h"
#include "data/file_lock.h"

#include <sys/stat.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

namespace lockring::app::workflow {
namespace fs = std::filesystem;
namespace {

std::int64_t bytes_below(const fs::path& path) {
  std::int64_t bytes = 0;
  std::error_code ignored;
  if (fs::is_regular_file(path, ignored)) return static_cast<std::int64_t>(fs::file_size(path, ignored));
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(path, ignored))
    if (entry.is_regular_file(ignored)) bytes += static_cast<std::int64_t>(entry.file_size(ignored));
  return bytes;
}

double last_used(const fs::path& file) {
  struct stat status {};
  return stat(file.c_str(), &status) == 0 ? static_cast<double>(status.st_mtime) : 0;
}

class Collector {
 public:
  Collector(const StateFolder& state, double oldest) : state_(state), cache_(state), oldest_(oldest) {}

  Garbage collect() {
    for (const std::string& id : list_runs(state_)) look_at_run(id);
    for (const fs::path& folder : children(state_.runs()))
      if (!fs::exists(folder / "run.json") && RunLock().take(folder)) remove(folder);  // killed as it was made
    look_at_cache();
    look_at_outputs(state_.outputs());
    look_at_outputs(state_.temporary());
    for (const fs::path& lock : children(state_.locks()))
      if (data::FileLock::take_if_free(lock)) fs::remove(lock);
    return garbage_;
  }

 private:
  static std::vector<fs::path> children(const fs::path& folder) {
    std::vector<fs::path> found;
    std::error_code ignored;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder, ignored)) found.push_back(entry.path());
    return found;
  }

  void remove(const fs::path& path) {
    garbage_.bytes += bytes_below(path);
    fs::remove_all(path);
  }

  void keep(const std::vector<OutputRecord>& outputs) {
    for (const OutputRecord& output : outputs)
      kept_.insert(fs::path(output.location).parent_path().lexically_normal().string());
  }

  void look_at_run(const std::string& id) {
    RunLock lock;
    const bool is_at_work = !lock.take(state_.runs() / id);
    if (is_at_work) goes_on_.insert(id);
    const RunStory run = read_journal_of(id);
    if (!is_at_work && run.began < oldest_) {
      remove(state_.runs() / id);
      ++garbage_.runs;
      return;
    }
    if (run.ended == 0 || run.state == name_of(StepState::stopped)) goes_on_.insert(id);
    for (const auto& [name, step] : run.steps) keep(step.outputs);
  }

  RunStory read_journal_of(const std::string& id) const {
    const fs::path journal = state_.runs() / id / "journal.jsonl";
    return fs::exists(journal) ? tell(read_journal(journal)) : RunStory{};
  }

  void look_at_cache() {
    for (const CacheEntry& entry : cache_.list()) {
      const fs::path file = cache_.file_of(entry.key.digest);
      if (last_used(file) >= oldest_) {
        keep(entry.outputs);
        continue;
      }
      remove(file);
      ++garbage_.entries;
    }
  }

  // RUN.STEP.NUMBER, or the key of what somebody may be making.
  void look_at_outputs(const fs::path& folder) {
    for (const fs::path& path : children(folder)) {
      const std::string name = path.filename().string();
      if (goes_on_.contains(name.substr(0, name.find('.'))) || kept_.contains(path.lexically_normal().string()))
        continue;
      const fs::path lock = state_.locks() / name;
      if (fs::exists(lock) && !data::FileLock::take_if_free(lock)) continue;
      remove(path);
      ++garbage_.outputs;
    }
  }

  const StateFolder& state_;
  Cache cache_;
  double oldest_;
  std::set<std::string> goes_on_;  // runs that are at work, or were cut off
  std::set<std::string> kept_;     // folders
  Garbage garbage_;
};

}  // namespace

Garbage collect_garbage(const StateFolder& state, double oldest) {
  try {
    return Collector(state, oldest).collect();
  } catch (const fs::filesystem_error& error) {
    fail(ErrorCode::data, "cannot remove {}: {}", error.path1().string(), error.code().message());
  }
}

}  // namespace lockring::app::workflow
