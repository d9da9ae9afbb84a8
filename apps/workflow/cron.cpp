#include "apps/workflow/cron.h"

#include "core/error.h"
#include "core/text.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <sstream>
#include <string_view>
#include <vector>

namespace lockring::app::workflow {
namespace {

enum FieldIndex { minute, hour, day, month, weekday };

struct Field {
  const char* name;
  int least;
  int most;
  std::vector<std::string_view> names;  // of the numbers from `least` on
};

const std::array<Field, 5>& fields() {
  static const std::array<Field, 5> table = {
      {{"minute", 0, 59, {}},
       {"hour", 0, 23, {}},
       {"day", 1, 31, {}},
       {"month", 1, 12, {"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}},
       {"weekday", 0, 7, {"sun", "mon", "tue", "wed", "thu", "fri", "sat"}}}};
  return table;
}

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, at);) parts.push_back(part);
  if (text.empty() || text.back() == at) parts.emplace_back();
  return parts;
}

class FieldParser {
 public:
  FieldParser(const Field& field, const std::string& text) : field_(field), text_(text) {}

  std::bitset<64> parse() const {
    std::bitset<64> set;
    for (const std::string& part : split(text_, ',')) add(part, set);
    return set;
  }

 private:
  [[noreturn]] void fail_field() const {
    fail(ErrorCode::usage, "'{}' is no {} of a cron expression: expected {} to {}, such as *, 5, 1-5, */2 or 1,3",
         printable(text_), field_.name, field_.least, field_.most);
  }

  // "*", "5", "1-5", each perhaps with "/2".
  void add(const std::string& part, std::bitset<64>& set) const {
    const std::vector<std::string> stepped = split(part, '/');
    if (stepped.size() > 2) fail_field();
    const int step = stepped.size() == 2 ? positive(stepped[1]) : 1;
    int first = field_.least;
    int last = field_.most;
    if (stepped[0] != "*") {
      const std::vector<std::string> ends = split(stepped[0], '-');
      if (ends.size() > 2) fail_field();
      first = number(ends[0]);
      if (ends.size() == 2)
        last = number(ends[1]);
      else if (stepped.size() == 1)
        last = first;
    }
    if (last < first) fail_field();
    for (int value = first; value <= last; value += step) set.set(static_cast<std::size_t>(value));
  }

  int positive(const std::string& text) const {
    int value = 0;
    const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || rest != text.data() + text.size() || value < 1 || value > field_.most) fail_field();
    return value;
  }

  int number(std::string text) const {
    std::ranges::transform(text, text.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    const auto named = std::ranges::find(field_.names, text);
    if (named != field_.names.end()) return field_.least + static_cast<int>(named - field_.names.begin());
    int value = 0;
    const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool whole = error == std::errc() && rest == text.data() + text.size() && text[0] != '-';
    if (!whole || value < field_.least || value > field_.most) fail_field();
    return value;
  }

  const Field& field_;
  const std::string& text_;
};

std::string without_shorthand(const std::string& text) {
  constexpr std::pair<std::string_view, std::string_view> kShorthands[] = {
      {"@hourly", "0 * * * *"},  {"@daily", "0 0 * * *"},  {"@midnight", "0 0 * * *"}, {"@weekly", "0 0 * * 0"},
      {"@monthly", "0 0 1 * *"}, {"@yearly", "0 0 1 1 *"}, {"@annually", "0 0 1 1 *"}};
  for (const auto& [shorthand, meaning] : kShorthands)
    if (text == shorthand) return std::string(meaning);
  return text;
}

}  // namespace

Cron Cron::parse(const std::string& text) {
  std::istringstream stream(without_shorthand(text));
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  check(words.size() == fields().size(), "'{}' is no cron expression: expected MINUTE HOUR DAY MONTH WEEKDAY or @daily",
        printable(text));
  Cron cron;
  for (std::size_t i = 0; i < words.size(); ++i) cron.fields_[i] = FieldParser(fields()[i], words[i]).parse();
  if (cron.fields_[weekday][7]) cron.fields_[weekday].set(0);
  cron.any_day_ = words[day].starts_with('*');
  cron.any_weekday_ = words[weekday].starts_with('*');
  return cron;
}

bool Cron::matches_day(const std::tm& time) const {
  const bool day_fits = fields_[day][static_cast<std::size_t>(time.tm_mday)];
  const bool weekday_fits = fields_[weekday][static_cast<std::size_t>(time.tm_wday)];
  return any_day_ || any_weekday_ ? day_fits && weekday_fits : day_fits || weekday_fits;
}

// Forward by months, days, hours and minutes, whichever does not fit. The calendar repeats after 28 years at most
// between centuries.
std::optional<std::time_t> Cron::next(std::time_t after) const {
  constexpr int kYears = 28;
  std::time_t at = after - after % 60 + 60;
  std::tm time{};
  localtime_r(&at, &time);
  const int last_year = time.tm_year + kYears;
  while (time.tm_year <= last_year) {
    std::tm later = time;
    later.tm_sec = 0;
    later.tm_isdst = -1;
    if (!fields_[month][static_cast<std::size_t>(time.tm_mon + 1)]) {
      later.tm_mon += 1;
      later.tm_mday = 1;
      later.tm_hour = later.tm_min = 0;
    } else if (!matches_day(time)) {
      later.tm_mday += 1;
      later.tm_hour = later.tm_min = 0;
    } else if (!fields_[hour][static_cast<std::size_t>(time.tm_hour)] ||
               !fields_[minute][static_cast<std::size_t>(time.tm_min)]) {
      // In seconds, not by the clock: an hour may be left out of it or come twice.
      at += 60;
      localtime_r(&at, &time);
      continue;
    } else {
      return at;
    }
    const std::time_t jumped = std::mktime(&later);
    at = std::max(jumped, at + 60);
    localtime_r(&at, &time);
  }
  return std::nullopt;
}

}  // namespace lockring::app::workflow
