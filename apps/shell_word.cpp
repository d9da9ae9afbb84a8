#include "apps/shell_word.h"

#include <algorithm>
#include <cctype>

namespace lockring::app {
namespace {

bool is_plain(char c) {
  constexpr std::string_view kPlain = "_-+=:,./@%^";
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || kPlain.find(c) != std::string_view::npos;
}

}  // namespace

std::string shell_word(std::string_view text) {
  if (!text.empty() && std::ranges::all_of(text, is_plain)) return std::string(text);
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

}  // namespace lockring::app
