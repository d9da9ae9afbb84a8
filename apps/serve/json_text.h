// JSON written by hand, where every microsecond counts; elsewhere nlohmann/json does it.
#pragma once

#include <charconv>
#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace lockring::app::serve {

// A finite number, in as few digits as tell it apart from its neighbours.
template <class T>
void append_number(std::string& out, T number) {
  char digits[32];
  const auto [end, error] = std::to_chars(digits, digits + sizeof digits, number);
  out.append(digits, end);
}

// Valid UTF-8 stays; quotes, backslashes and control characters are escaped, and what is no UTF-8 becomes U+FFFD.
void append_text(std::string& out, std::string_view text);

// "1,2,3", without brackets.
template <class T>
void append_numbers(std::string& out, std::span<const T> numbers) {
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (i > 0) out += ',';
    append_number(out, numbers[i]);
  }
}

}  // namespace lockring::app::serve
