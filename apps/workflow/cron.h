// Cron expressions: when a scheduled workflow runs.
//
// Five fields, "MINUTE HOUR DAY MONTH WEEKDAY" as in crontab(5): numbers, names of months and days (jan, mon), "*",
// ranges "1-5", steps "*/15" and "0-30/10", lists "1,15"; Sunday is 0 or 7. If both days are restricted, one of them is
// enough. Also @hourly, @daily, @weekly, @monthly and @yearly. Times are local; one that a change to summer time leaves
// out does not come on that day, and one that comes twice runs twice.
#pragma once

#include <array>
#include <bitset>
#include <ctime>
#include <optional>
#include <string>

namespace lockring::app::workflow {

class Cron {
 public:
  // Throws Error{usage} that names the field.
  static Cron parse(const std::string& text);

  // The first minute after `after` that matches, in seconds since 1970; nothing for one that never comes, such as 30
  // February.
  std::optional<std::time_t> next(std::time_t after) const;

 private:
  using Set = std::bitset<64>;

  bool matches_day(const std::tm& time) const;

  std::array<Set, 5> fields_;
  bool any_day_ = false;  // the field is "*"
  bool any_weekday_ = false;
};

}  // namespace lockring::app::workflow
