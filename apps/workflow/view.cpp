#include "apps/workflow/view.h"

#include "apps/terminal.h"
#include "core/text.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>

namespace lockring::app::workflow {
namespace {

constexpr std::chrono::milliseconds kRedraw{100};

// By StepState: as the table shows it, and in which colour.
struct Look {
  const char* symbol;
  const char* plain;
  const char* color;
};
constexpr std::array<Look, 10> kLooks = {{{"·", ".", "2"},
                                          {"▶", ">", "36"},
                                          {"●", "@", "32"},
                                          {"✓", "+", "32"},
                                          {"≡", "=", "34"},
                                          {"-", "-", "2"},
                                          {"-", "-", "33"},
                                          {"✗", "x", "31"},
                                          {"✗", "x", "31"},
                                          {"■", "!", "33"}}};

const Look& look_of(StepState state) { return kLooks[static_cast<std::size_t>(state)]; }

int terminal_rows(std::FILE* stream) {
  constexpr int kUsual = 24;
  winsize size{};
  return ioctl(fileno(stream), TIOCGWINSZ, &size) == 0 && size.ws_row > 0 ? size.ws_row : kUsual;
}

std::string cut(const std::string& text, std::int64_t columns) {
  std::string line = text;
  while (columns_of(line) > columns) {
    while (!line.empty() && (static_cast<unsigned char>(line.back()) & 0xc0) == 0x80) line.pop_back();
    if (!line.empty()) line.pop_back();
  }
  return line;
}

double seconds_between(std::chrono::steady_clock::time_point from, std::chrono::steady_clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

}  // namespace

std::string last_line(const std::filesystem::path& log) {
  constexpr std::streamoff kTail = 4096;
  std::ifstream file(log, std::ios::binary | std::ios::ate);
  if (!file) return "";
  const std::streamoff size = file.tellg();
  file.seekg(std::max<std::streamoff>(0, size - kTail));
  std::string text(static_cast<std::size_t>(std::min(size, kTail)), '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  const std::size_t end = text.find_last_not_of("\r\n \t");
  if (end == std::string::npos) return "";
  const std::size_t begin = text.find_last_of("\r\n", end);
  return printable(
      text.substr(begin == std::string::npos ? 0 : begin + 1, end - (begin == std::string::npos ? 0 : begin + 1) + 1));
}

View::View(const Workflow& workflow, const RunFolder& folder, ProgressStyle style, std::FILE* stream)
    : workflow_(workflow), folder_(folder), style_(style), stream_(stream), rows_(workflow.steps.size()) {
  for (const StepSpec& step : workflow.steps) name_columns_ = std::max(name_columns_, step.name.size());
}

View::~View() {
  flush();
  erase();
}

void View::changed(int step, const StepStatus& status, int attempt) {
  Row& row = rows_[static_cast<std::size_t>(step)];
  note_time(row, status.state);
  row.state = status.state;
  row.message = status.message;
  row.attempt = attempt;
  if (style_.mode == ProgressStyle::Mode::lines) print(event_text(step));
}

void View::note_time(Row& row, StepState state) {
  const Clock::time_point now = Clock::now();
  if (row.state == StepState::running) row.seconds += seconds_between(row.since, now);
  if (state == StepState::running && row.state != StepState::running) row.since = now;
}

void View::warn(const std::string& message) {
  erase();
  print("lockring: warning: " + printable(message));
  flush();
}

void View::tick() {
  flush();
  if (style_.mode == ProgressStyle::Mode::bar && !serving_ && Clock::now() - drawn_at_ >= kRedraw) draw();
}

void View::finish() {
  flush();
  if (style_.mode == ProgressStyle::Mode::bar) draw();
  drawn_lines_ = 0;
}

void View::serving() {
  finish();
  serving_ = true;
  if (style_.mode != ProgressStyle::Mode::quiet)
    print(fmt::format("{}: all other steps have ended; serving until Ctrl-C", folder_.facts().id));
  flush();
}

// "   12.3 s  cnn: failed, exit code 3, after 10.1 s; see .lockring/runs/x-1/logs/cnn.1.log"
std::string View::event_text(int step) const {
  const Row& row = rows_[static_cast<std::size_t>(step)];
  std::string text = fmt::format("{:>10}  {}: {}", duration_text(seconds_between(began_, Clock::now())),
                                 workflow_.steps[static_cast<std::size_t>(step)].name, name_of(row.state));
  if (row.state == StepState::running && row.attempt > 1) text += fmt::format(", attempt {}", row.attempt);
  if (!row.message.empty()) text += ", " + printable(row.message);
  if (is_final(row.state) && row.seconds > 0) text += ", after " + duration_text(row.seconds);
  if (row.state == StepState::failed || row.state == StepState::errored)
    text += "; see " + folder_.log(workflow_.steps[static_cast<std::size_t>(step)].name, row.attempt).string();
  return text;
}

std::string View::detail(int step) const {
  const Row& row = rows_[static_cast<std::size_t>(step)];
  if (row.state != StepState::running) return printable(row.message);
  const std::string line = last_line(folder_.log(workflow_.steps[static_cast<std::size_t>(step)].name, row.attempt));
  return line.empty() ? printable(row.message) : line;
}

std::string View::row_text(int step, int width) const {
  const Row& row = rows_[static_cast<std::size_t>(step)];
  const Look& look = look_of(row.state);
  const double seconds = row.seconds + (row.state == StepState::running ? seconds_between(row.since, Clock::now()) : 0);
  const std::string time = seconds > 0 ? duration_text(seconds) : "";
  const std::string text = cut(fmt::format("{} {:<{}}  {:<9}  {:>11}  {}", style_.utf8 ? look.symbol : look.plain,
                                           workflow_.steps[static_cast<std::size_t>(step)].name, name_columns_,
                                           name_of(row.state), time, detail(step)),
                               width);
  return style_.color ? fmt::format("\x1b[{}m{}\x1b[0m", look.color, text) : text;
}

// All steps where they fit; else those at work, and how many others there are.
std::vector<std::string> View::table() const {
  const int width = terminal_width(stream_) - 1;
  const int room = std::max(terminal_rows(stream_) - 2, 1);
  std::vector<std::string> lines;
  std::size_t ended = 0;
  const bool all = std::ssize(rows_) <= room;
  for (int step = 0; step < std::ssize(rows_); ++step) {
    const StepState state = rows_[static_cast<std::size_t>(step)].state;
    if (is_final(state)) ++ended;
    const bool shown = all || state == StepState::running || state == StepState::ready || state == StepState::failed;
    if (shown && std::ssize(lines) < room) lines.push_back(row_text(step, width));
  }
  lines.push_back(cut(fmt::format("{}: {} of {} steps ended, {}", folder_.facts().id, ended, rows_.size(),
                                  duration_text(seconds_between(began_, Clock::now()))),
                      width));
  return lines;
}

void View::draw() {
  const std::vector<std::string> lines = table();
  std::string text;
  if (drawn_lines_ > 0) text += fmt::format("\x1b[{}A", drawn_lines_);
  for (const std::string& line : lines) text += "\r\x1b[K" + line + "\n";
  text += "\x1b[J";
  std::fwrite(text.data(), 1, text.size(), stream_);
  std::fflush(stream_);
  drawn_lines_ = static_cast<int>(lines.size());
  drawn_at_ = Clock::now();
}

void View::erase() {
  if (drawn_lines_ == 0) return;
  const std::string text = fmt::format("\x1b[{}A\r\x1b[J", drawn_lines_);
  std::fwrite(text.data(), 1, text.size(), stream_);
  std::fflush(stream_);
  drawn_lines_ = 0;
}

void View::print(const std::string& line) { pending_ += line + "\n"; }

void View::flush() {
  std::fwrite(pending_.data(), 1, pending_.size(), stream_);
  pending_.clear();
}

}  // namespace lockring::app::workflow
