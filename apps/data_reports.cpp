#include "apps/data_reports.h"

#include "apps/progress.h"
#include "apps/terminal.h"
#include "core/stopwatch.h"

#include <atomic>
#include <chrono>
#include <mutex>
#include <optional>
#include <utility>

namespace lockring::app {

struct DataReports::State {
  explicit State(bool quiet) : style(progress_style(quiet)) {}

  const ProgressStyle style;
  std::mutex mutex;
  std::optional<ProgressLine> bar;  // of the split that is being prepared
  std::chrono::steady_clock::time_point started;
  std::vector<DataNote> notes;
  std::atomic<bool> any{false};
  bool held = false;

  void note(const std::string& text) {
    const std::lock_guard lock(mutex);
    if (!held) ProgressLine(style).line("note: " + text);
    notes.push_back({text, !held});
    any = true;
  }
  void progress(std::string_view split, std::int64_t done, std::int64_t total) {
    const std::lock_guard lock(mutex);
    if (!bar) {
      bar.emplace(style);
      started = std::chrono::steady_clock::now();
    }
    bar->update(static_cast<double>(done) / static_cast<double>(total), [&] {
      return fmt::format("preparing {} images, {} of {}", split, with_thousands(done), with_thousands(total));
    });
    if (done < total) return;
    bar->line(fmt::format("prepared {} {} images in {}", with_thousands(total), split == "train" ? "training" : split,
                          duration_text(seconds_since(started))));
    bar.reset();
  }
};

DataReports::DataReports(bool quiet) : state_(std::make_shared<State>(quiet)) {}

data::LoadOptions DataReports::load_options(const CacheOptions& cache, const data::Front& front) const {
  data::LoadOptions options;
  options.front = front;
  options.memory = cache.bytes();
  options.cache_dir = cache.directory();
  options.notice = [state = state_](const std::string& text) { state->note(text); };
  options.progress = [state = state_](std::string_view split, std::int64_t done, std::int64_t total) {
    state->progress(split, done, total);
  };
  return options;
}

void DataReports::note(const std::string& text) const { state_->note(text); }

void DataReports::hold() {
  const std::lock_guard lock(state_->mutex);
  state_->held = true;
}

std::vector<DataNote> DataReports::take() {
  if (!state_->any) return {};
  const std::lock_guard lock(state_->mutex);
  state_->any = false;
  return std::exchange(state_->notes, {});
}

}  // namespace lockring::app
