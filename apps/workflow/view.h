// A run as it is watched, on stderr: on a terminal a table of the steps that redraws itself, otherwise a line an event.
#pragma once

#include "apps/progress.h"
#include "apps/workflow/engine.h"

#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

namespace lockring::app::workflow {

// The last line of a log that is not empty, made printable; a progress bar's last state. "" if there is none.
std::string last_line(const std::filesystem::path& log);

class View final : public Observer {
 public:
  // Keeps references.
  View(const Workflow& workflow, const RunFolder& folder, ProgressStyle style, std::FILE* stream = stderr);
  ~View() override;

  void changed(int step, const StepStatus& status, int attempt) override;
  void warn(const std::string& message) override;
  void tick() override;
  void serving() override;
  // The table a last time, to stay.
  void finish();

 private:
  using Clock = std::chrono::steady_clock;

  struct Row {
    StepState state = StepState::waiting;
    std::string message;
    int attempt = 0;
    Clock::time_point since{};
    double seconds = 0;  // that it ran
  };

  void note_time(Row& row, StepState state);
  std::string event_text(int step) const;
  std::vector<std::string> table() const;
  std::string row_text(int step, int width) const;
  std::string detail(int step) const;
  void draw();
  void erase();
  void print(const std::string& line);
  void flush();

  const Workflow& workflow_;
  const RunFolder& folder_;
  ProgressStyle style_;
  std::FILE* stream_;
  std::vector<Row> rows_;
  Clock::time_point began_ = Clock::now();
  Clock::time_point drawn_at_{};
  std::size_t name_columns_ = 0;
  std::string pending_;  // lines that go out together
  int drawn_lines_ = 0;
  bool serving_ = false;  // the terminal is others' until the end
};

}  // namespace lockring::app::workflow
