// How far a long piece of work is, on stderr: a bar that redraws itself on a terminal, otherwise only finished lines.
#pragma once

#include <chrono>
#include <cstdio>
#include <string>
#include <string_view>

namespace lockring::app {

struct ProgressStyle {
  enum class Mode { bar, lines, quiet };
  Mode mode = Mode::lines;
  bool utf8 = false;   // block characters; '#' otherwise
  bool color = false;  // and terminal control sequences
};

// What suits the stream: `quiet` shows nothing at all.
ProgressStyle progress_style(bool quiet, std::FILE* stream = stderr);

// "[########------------]  42 %  TEXT", in `width` columns: the bar is shorter where the text needs the room, and then
// the text is cut. `text` counts one column a character; a character outside ASCII is never cut in half.
std::string progress_bar(double fraction, std::string_view text, const ProgressStyle& style, int width);

// One thread at a time.
class ProgressLine {
 public:
  explicit ProgressLine(ProgressStyle style, std::FILE* stream = stderr);
  ~ProgressLine();  // takes an unfinished bar away
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  // Redraws the bar, at most ten times a second; a call in between costs a look at the clock. `text` is a callable that
  // returns what stands behind the bar; the time left follows it.
  template <class Text>
  void update(double fraction, const Text& text) {
    if (due()) draw(fraction, text());
  }
  // Prints a line that stays, in place of the bar. Nothing in quiet mode.
  void line(std::string_view text);
  // The same for what went wrong, in every mode.
  void warning(std::string_view text);

 private:
  using Clock = std::chrono::steady_clock;

  bool due() const;
  void draw(double fraction, const std::string& text);
  void erase();
  void print(std::string_view text);
  double seconds_left(double fraction);

  ProgressStyle style_;
  std::FILE* stream_;
  Clock::time_point drawn_at_{};
  std::int64_t drawn_columns_ = 0;  // 0: no bar is showing
  // Where the speed is measured from: the first update, which after a resume is not at 0.
  double first_fraction_ = -1;
  Clock::time_point first_at_{};
};

}  // namespace lockring::app
