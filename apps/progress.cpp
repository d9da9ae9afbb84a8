#include "apps/progress.h"

#include "apps/terminal.h"
#include "core/text.h"

#include <algorithm>
#include <cmath>

namespace lockring::app {
namespace {

constexpr int kBarColumns = 20;
constexpr int kLeastBarColumns = 4;  // when the text needs the room
constexpr std::chrono::milliseconds kRedrawInterval{100};

bool is_continuation(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

std::string cut_to(std::string_view text, std::size_t columns) {
  std::size_t end = 0;
  for (std::size_t column = 0; end < text.size(); ++end) {
    if (!is_continuation(text[end]) && column++ == columns) break;
  }
  return std::string(text.substr(0, end));
}

// Eighths of a column, where the characters for them exist.
std::string bar_utf8(double fraction, int columns) {
  constexpr const char* kParts[] = {" ", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const int eighths = static_cast<int>(fraction * columns * 8);
  std::string bar = "▕";
  for (int column = 0; column < columns; ++column) {
    bar += column < eighths / 8 ? "█" : column == eighths / 8 ? kParts[eighths % 8] : " ";
  }
  return bar + "▏";
}

std::string bar_ascii(double fraction, int columns) {
  const auto full = static_cast<std::size_t>(fraction * columns);
  return fmt::format("[{}{}]", std::string(full, '#'), std::string(columns - full, '-'));
}

}  // namespace

ProgressStyle progress_style(bool quiet, std::FILE* stream) {
  using Mode = ProgressStyle::Mode;
  const Mode mode = quiet ? Mode::quiet : is_terminal(stream) ? Mode::bar : Mode::lines;
  return {.mode = mode, .utf8 = shows_utf8(), .color = shows_color(stream)};
}

std::string progress_bar(double fraction, std::string_view text, const ProgressStyle& style, int width) {
  fraction = std::isfinite(fraction) ? std::clamp(fraction, 0.0, 1.0) : 0.0;
  const std::string behind = fmt::format(" {:3.0f} %  {}", std::floor(fraction * 100), text);
  constexpr int kEnds = 2;
  if (width < kBarColumns + kEnds) return cut_to(behind, static_cast<std::size_t>(std::max(width, 0)));
  const int room = width - kEnds - static_cast<int>(columns_of(behind));
  const int bar_columns = std::clamp(room, kLeastBarColumns, kBarColumns);
  const std::string bar = style.utf8 ? bar_utf8(fraction, bar_columns) : bar_ascii(fraction, bar_columns);
  const std::string shown = cut_to(behind, width - kEnds - bar_columns);
  return style.color ? fmt::format("\x1b[36m{}\x1b[0m{}", bar, shown) : bar + shown;
}

ProgressLine::ProgressLine(ProgressStyle style, std::FILE* stream) : style_(style), stream_(stream) {}

ProgressLine::~ProgressLine() { erase(); }

bool ProgressLine::due() const {
  return style_.mode == ProgressStyle::Mode::bar && Clock::now() - drawn_at_ >= kRedrawInterval;
}

void ProgressLine::draw(double fraction, const std::string& text) {
  const double left = seconds_left(fraction);
  const std::string full = left < 0 ? text : text + ", " + duration_text(left) + " left";
  // The last column stays free: some terminals wrap when it is written.
  const int width = terminal_width(stream_) - 1;
  const ProgressStyle plain{.mode = style_.mode, .utf8 = style_.utf8, .color = false};
  const std::int64_t columns = columns_of(progress_bar(fraction, full, plain, width));
  const std::int64_t rest = std::max<std::int64_t>(drawn_columns_ - columns, 0);
  const std::string line = fmt::format("\r{}{}", progress_bar(fraction, full, style_, width), std::string(rest, ' '));
  std::fwrite(line.data(), 1, line.size(), stream_);
  std::fflush(stream_);
  drawn_columns_ = columns + rest;
  drawn_at_ = Clock::now();
}

void ProgressLine::line(std::string_view text) {
  if (style_.mode != ProgressStyle::Mode::quiet) print(text);
}

void ProgressLine::warning(std::string_view text) { print("lockring: warning: " + printable(text)); }

void ProgressLine::print(std::string_view text) {
  erase();
  const std::string line = std::string(text) + "\n";
  std::fwrite(line.data(), 1, line.size(), stream_);
  std::fflush(stream_);
}

void ProgressLine::erase() {
  if (drawn_columns_ == 0) return;
  const std::string blank = fmt::format("\r{}\r", std::string(drawn_columns_, ' '));
  std::fwrite(blank.data(), 1, blank.size(), stream_);
  std::fflush(stream_);
  drawn_columns_ = 0;
}

// At the average speed so far; negative while there is none.
double ProgressLine::seconds_left(double fraction) {
  if (first_fraction_ < 0) {
    first_fraction_ = fraction;
    first_at_ = Clock::now();
  }
  constexpr double kTooEarly = 1.0;
  const double seconds = std::chrono::duration<double>(Clock::now() - first_at_).count();
  const double done = fraction - first_fraction_;
  return seconds < kTooEarly || done <= 0 ? -1 : seconds * (1 - fraction) / done;
}

}  // namespace lockring::app
