#include "apps/workflow/schedule.h"

#include "apps/workflow/content.h"
#include "core/error.h"
#include "core/files.h"

#include <fmt/chrono.h>
#include <sys/stat.h>

#include <algorithm>

namespace lockring::app::workflow {
namespace fs = std::filesystem;
namespace {

void add_stat(const fs::path& path, std::string& text) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) return;
  text += fmt::format("{} {} {} {}\n", path.string(), status.st_size, status.st_mtim.tv_sec, status.st_mtim.tv_nsec);
}

// Changes whenever anything may have changed; cheap.
std::string outline(const std::vector<fs::path>& paths) {
  std::string text;
  std::error_code ignored;
  for (const fs::path& path : paths) {
    add_stat(path, text);
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(path, ignored))
      add_stat(entry.path(), text);
  }
  return sha256(text);
}

// "" while something is missing or cannot be read.
std::string content(const std::vector<fs::path>& paths) {
  std::string text;
  try {
    for (const fs::path& path : paths) text += content_of(path).digest;
  } catch (const Error&) {
    return "";
  }
  return text;
}

void keep_times(const ScheduleOptions& options, const std::function<bool()>& run) {
  constexpr double kLongestNap = 60;  // the clock may be moved meanwhile
  for (int runs = 0; options.limit == 0 || runs < options.limit; ++runs) {
    const std::optional<std::time_t> next = options.cron->next(options.now());
    check(next.has_value(), "the time of this cron expression never comes");
    options.say(fmt::format("next run at {:%Y-%m-%d %H:%M}", fmt::localtime(*next)));
    while (options.now() < *next)
      if (!options.sleep(std::min(static_cast<double>(*next - options.now()), kLongestNap))) return;
    if (!run()) return;
  }
}

void watch(const ScheduleOptions& options, const std::function<bool()>& run) {
  std::string before;   // outlines
  std::string checked;  // the last one whose content was looked at
  std::string used;     // content of the last run
  bool is_first = true;
  for (int runs = 0; options.limit == 0 || runs < options.limit;) {
    const std::string now = outline(options.watched);
    const bool is_still = now == before || is_first;
    is_first = false;
    before = now;
    if (is_still && now != checked) {
      checked = now;
      const std::string found = content(options.watched);
      if (!found.empty() && found != used) {
        used = found;
        ++runs;
        options.say(runs == 1 ? "first run" : "the data has changed");
        if (!run()) return;
        continue;
      }
    }
    if (!options.sleep(options.look_every)) return;
  }
}

}  // namespace

void keep_schedule(const ScheduleOptions& options, const std::function<bool()>& run) {
  if (options.cron)
    keep_times(options, run);
  else
    watch(options, run);
}

}  // namespace lockring::app::workflow
