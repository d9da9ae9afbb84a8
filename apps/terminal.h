// What commands print: results to stdout, numbers and durations as people read them. Progress is in progress.h.
#pragma once

#include <fmt/core.h>

#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>

namespace lockring::app {

// Results, to stdout. A closed pipe or a full disk does not interrupt the command: the program reports it at its end.
void print_text(std::string_view text);

template <class... Args>
void print(fmt::format_string<Args...> format, Args&&... args) {
  print_text(fmt::format(format, std::forward<Args>(args)...));
}

// To stderr, what the library had to note (core/notes.h) and nobody has told so far.
void print_notes();

bool is_terminal(std::FILE* stream);
// Columns of the stream's terminal, 80 where that is unknown.
int terminal_width(std::FILE* stream);
// Whether the user's locale (LC_ALL, LC_CTYPE, LANG) writes UTF-8 on a terminal that can show it (TERM is not dumb).
bool shows_utf8();
// Whether to colour what goes to the stream: a terminal, not a dumb one, and NO_COLOR (no-color.org) is not set.
bool shows_color(std::FILE* stream);

// Columns that UTF-8 text takes: one a character.
std::int64_t columns_of(std::string_view text);

// "1,234,567"
std::string with_thousands(std::int64_t number);
// "850 ms", "12.3 s", "4 min 07 s", "2 h 05 min"
std::string duration_text(double seconds);
// "512 B", "1.5 KiB", "32 MiB"
std::string bytes_text(double bytes);

}  // namespace lockring::app
