// What commands print: results to stdout, progress to stderr, numbers and durations as people read them.
#pragma once

#include <fmt/core.h>

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

}  // namespace lockring::app
