#include "apps/terminal.h"

#include "core/notes.h"
#include "core/text.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace lockring::app {
namespace {

std::string_view variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

bool is_dumb() { return variable("TERM") == "dumb"; }

}  // namespace

void print_text(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stdout); }

void print_notes() {
  for (const std::string& note : take_notes()) fmt::print(stderr, "note: {}\n", printable(note));
}

bool is_terminal(std::FILE* stream) { return isatty(fileno(stream)) != 0; }

int terminal_width(std::FILE* stream) {
  constexpr int kUsual = 80;
  winsize size{};
  return ioctl(fileno(stream), TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : kUsual;
}

bool shows_utf8() {
  if (is_dumb()) return false;
  // POSIX: the first of these that is set and not empty counts.
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    std::string locale{variable(name)};
    if (locale.empty()) continue;
    std::transform(locale.begin(), locale.end(), locale.begin(), [](unsigned char c) { return std::tolower(c); });
    return locale.find("utf-8") != std::string::npos || locale.find("utf8") != std::string::npos;
  }
  return false;
}

bool shows_color(std::FILE* stream) { return is_terminal(stream) && !is_dumb() && variable("NO_COLOR").empty(); }

std::int64_t columns_of(std::string_view text) {
  return std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; });
}

std::string with_thousands(std::int64_t number) {
  std::string text = std::to_string(number);
  const int first = number < 0 ? 1 : 0;
  for (int at = static_cast<int>(text.size()) - 3; at > first; at -= 3)
    text.insert(static_cast<std::size_t>(at), 1, ',');
  return text;
}

std::string duration_text(double seconds) {
  if (!std::isfinite(seconds) || seconds < 0) return "?";
  if (seconds < 0.9995) return fmt::format("{:.0f} ms", seconds * 1e3);
  if (seconds < 59.95) return fmt::format("{:.1f} s", seconds);
  const auto whole = static_cast<std::int64_t>(std::llround(seconds));
  if (whole < 3600) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  const std::int64_t minutes = (whole + 30) / 60;
  return fmt::format("{} h {:02} min", minutes / 60, minutes % 60);
}

std::string bytes_text(double bytes) {
  constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  int unit = 0;
  for (; bytes >= 1023.5 && unit < 5; ++unit) bytes /= 1024;
  const bool fraction = unit > 0 && bytes < 9.95 && std::abs(bytes - std::round(bytes)) >= 0.05;
  return fraction ? fmt::format("{:.1f} {}", bytes, kUnits[unit]) : fmt::format("{:.0f} {}", bytes, kUnits[unit]);
}

}  // namespace lockring::app
