#include "apps/option_values.h"

#include "core/error.h"
#include "core/text.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <string_view>
#include <utility>

namespace lockring::app {
namespace {

// Reads all of `text` with a function of the strtol kind; sets errno to EDOM where that is not a number.
template <class Read>
auto read_number(const std::string& text, const Read& read) {
  errno = 0;
  char* end = nullptr;
  const auto number = read(text.c_str(), &end);
  if (text.empty() || end != text.c_str() + text.size()) errno = EDOM;
  return number;
}

double read_double(const std::string& text) {
  const double number = read_number(text, [](const char* begin, char** end) { return std::strtod(begin, end); });
  if (errno == 0 && std::isnan(number)) errno = EDOM;
  if (errno == 0 && std::isinf(number)) errno = ERANGE;
  return number;
}

void check_number(const std::string& name, const std::string& type, const std::string& text) {
  constexpr int kAnyBase = 0;
  const char* expected = "a whole number";
  if (type == "INT") {
    read_number(text, [](const char* begin, char** end) { return std::strtoll(begin, end, kAnyBase); });
  } else if (type == "UINT") {
    read_number(text, [](const char* begin, char** end) { return std::strtoull(begin, end, kAnyBase); });
    if (text.starts_with('-')) errno = ERANGE;
  } else if (type == "FLOAT") {
    expected = "a number";
    read_double(text);
  } else {
    return;
  }
  check(errno != EDOM, "{}: expected {}, found '{}'", name, expected, text);
  check(errno != ERANGE, "{}: {} is out of range", name, text);
}

// Of "M", "MB" and "MiB" 2; -1 for what is no unit of bytes.
int power_of_1024(std::string_view unit) {
  if (unit.empty() || unit == "B") return 0;
  const std::size_t power = std::string_view("KMGT").find(static_cast<char>(unit[0] & ~0x20));  // either case
  const std::string_view tail = unit.substr(1);
  const bool known = power != std::string_view::npos && (tail.empty() || tail == "B" || tail == "iB");
  return known ? static_cast<int>(power) + 1 : -1;
}

// A number above `limit` and one of the units behind it.
double number_with_unit(const std::string& text, const std::string& option, const char* expected, double limit,
                        const std::vector<std::pair<std::string, double>>& units) {
  const std::size_t end = std::min(text.find_first_not_of("0123456789."), text.size());
  const double number = read_double(text.substr(0, end));
  const bool is_number = errno == 0 && number > limit;
  const auto unit = std::ranges::find(units, text.substr(end), &std::pair<std::string, double>::first);
  check(is_number && unit != units.end(), "{}: expected {}, found '{}'", option, expected, text);
  return number * unit->second;
}

CLI::Validator interval(std::string expected, double least, double most, bool least_included) {
  auto check_text = [=, expected = std::move(expected)](const std::string& text) -> std::string {
    const double number = read_double(text);
    const bool inside = errno == 0 && number <= most && (least_included ? number >= least : number > least);
    return inside ? "" : fmt::format("expected {}, found '{}'", expected, text);
  };
  return CLI::Validator(std::move(check_text), "");
}

}  // namespace

CLI::Validator one_of(std::vector<std::string> words) {
  auto check_word = [words](const std::string& word) -> std::string {
    if (std::find(words.begin(), words.end(), word) != words.end()) return "";
    return fmt::format("'{}' is not one of {}{}", word, joined(words), did_you_mean(word, words));
  };
  return CLI::Validator(std::move(check_word), joined(words, "|"));
}

CLI::Validator above(double limit) {
  return interval(fmt::format("a number above {}", limit), limit, std::numeric_limits<double>::max(), false);
}

CLI::Validator within(double least, double most) {
  return interval(fmt::format("a number from {} to {}", least, most), least, most, true);
}

std::int64_t parse_bytes(const std::string& text, const std::string& option) {
  const char* end = text.data() + text.size();
  std::int64_t bytes = 0;
  const auto [rest, error] = std::from_chars(text.data(), end, bytes);
  const int power = error == std::errc::invalid_argument || bytes < 0 ? -1 : power_of_1024({rest, end});
  check(power >= 0, "{}: expected a size such as 512M or 2G, found '{}'", option, text);
  const std::int64_t most = std::numeric_limits<std::int64_t>::max() >> 10 * power;
  check(error == std::errc() && bytes <= most, "{}: {} is out of range", option, text);
  return bytes << 10 * power;
}

std::int64_t parse_seconds(const std::string& text, const std::string& option) {
  constexpr std::pair<char, std::int64_t> kUnits[] = {{'s', 1}, {'m', 60}, {'h', 3600}, {'d', 86400}};
  const char* end = text.data() + text.size();
  std::int64_t count = 0;
  const auto [rest, error] = std::from_chars(text.data(), end, count);
  const auto unit =
      std::ranges::find_if(kUnits, [&](const auto& one) { return rest + 1 == end && *rest == one.first; });
  check(error != std::errc::invalid_argument && count >= 0 && unit != std::end(kUnits),
        "{}: expected a time such as 90s, 30m, 12h or 7d, found '{}'", option, text);
  check(error == std::errc() && count <= std::numeric_limits<std::int64_t>::max() / unit->second,
        "{}: {} is out of range", option, text);
  return count * unit->second;
}

double parse_rate(const std::string& text, const std::string& option) {
  return number_with_unit(text, option, "a rate such as 25Gbit or 100Mbit", 0,
                          {{"bit", 1}, {"kbit", 1e3}, {"Mbit", 1e6}, {"Gbit", 1e9}, {"Tbit", 1e12}});
}

double parse_short_time(const std::string& text, const std::string& option) {
  return number_with_unit(text, option, "a time such as 20us, 1.5ms or 2s", -1,
                          {{"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3}, {"s", 1}});
}

void check_values(const CLI::App& app) {
  for (const CLI::Option* option : app.get_options()) {
    // "INT", or "INT:" and what validators say of themselves.
    const std::string type = option->get_type_name();
    const std::string kind = type.substr(0, type.find(':'));
    for (const std::string& text : option->results()) check_number(option->get_name(), kind, text);
  }
}

}  // namespace lockring::app
