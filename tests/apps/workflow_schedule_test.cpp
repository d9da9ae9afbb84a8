// When scheduled workflows run.
#include "apps/workflow/schedule.h"

#include "apps/workflow/cron.h"
#include "tests/apps/captured_run.h"
#include "tests/apps/scoped_variable.h"
#include "tests/support/errors.h"
#include "tests/support/temporary_directory.h"

#include <fmt/chrono.h>
#include <gtest/gtest.h>

#include <fstream>

namespace lockring::app::workflow {
namespace {

namespace fs = std::filesystem;

class WorkflowCron : public testing::Test {
 protected:
  explicit WorkflowCron(const char* zone = "UTC") : zone_("TZ", zone) { tzset(); }
  ~WorkflowCron() override { tzset(); }

  // The times that follow, "2026-03-01 12:00", in local time.
  static std::string next(const std::string& cron, const std::string& from, int count = 1) {
    std::tm time{};
    strptime(from.c_str(), "%Y-%m-%d %H:%M:%S", &time);
    time.tm_isdst = -1;
    std::time_t at = mktime(&time);
    std::string text;
    for (int i = 0; i < count; ++i) {
      const std::optional<std::time_t> next = Cron::parse(cron).next(at);
      if (!next) return "never";
      at = *next;
      text += fmt::format("{}{:%Y-%m-%d %H:%M}", i > 0 ? ", " : "", fmt::localtime(at));
    }
    return text;
  }

  const ScopedVariable zone_;
};

TEST_F(WorkflowCron, FindsTheNextTime) {
  const std::string from = "2026-02-27 23:58:30";  // a Friday
  EXPECT_EQ(next("* * * * *", from, 2), "2026-02-27 23:59, 2026-02-28 00:00");
  EXPECT_EQ(next("*/15 * * * *", from, 3), "2026-02-28 00:00, 2026-02-28 00:15, 2026-02-28 00:30");
  EXPECT_EQ(next("5-20/10,40 3 * * *", from, 3), "2026-02-28 03:05, 2026-02-28 03:15, 2026-02-28 03:40");
  EXPECT_EQ(next("0 3 1 * *", from, 2), "2026-03-01 03:00, 2026-04-01 03:00");
  EXPECT_EQ(next("0 0 * * 1-5", from, 2), "2026-03-02 00:00, 2026-03-03 00:00");
  EXPECT_EQ(next("0 0 * * sun", from), next("0 0 * * 7", from));
  EXPECT_EQ(next("0 0 * * SUN", from), next("0 0 * * 0", from));
  EXPECT_EQ(next("0 12 1 jan,jul *", from, 2), "2026-07-01 12:00, 2027-01-01 12:00");
  EXPECT_EQ(next("0 0 29 2 *", from), "2028-02-29 00:00");
  EXPECT_EQ(next("50/5 * * * *", from, 2), "2026-02-28 00:50, 2026-02-28 00:55");
}

TEST_F(WorkflowCron, OfTwoRestrictedDaysOneIsEnough) {
  EXPECT_EQ(next("0 0 13 * fri", "2026-03-02 00:00:00", 4),
            "2026-03-06 00:00, 2026-03-13 00:00, 2026-03-20 00:00, 2026-03-27 00:00");
  EXPECT_EQ(next("0 0 13 * *", "2026-03-02 00:00:00"), "2026-03-13 00:00");
}

TEST_F(WorkflowCron, Shorthands) {
  const std::string from = "2026-03-03 10:30:00";
  EXPECT_EQ(next("@hourly", from), "2026-03-03 11:00");
  EXPECT_EQ(next("@daily", from), "2026-03-04 00:00");
  EXPECT_EQ(next("@weekly", from), "2026-03-08 00:00");
  EXPECT_EQ(next("@monthly", from), "2026-04-01 00:00");
  EXPECT_EQ(next("@yearly", from), "2027-01-01 00:00");
}

TEST_F(WorkflowCron, AnExactTimeIsNotItsOwnNext) {
  EXPECT_EQ(next("30 10 * * *", "2026-03-03 10:30:00"), "2026-03-04 10:30");
  EXPECT_EQ(next("30 10 * * *", "2026-03-03 10:29:59"), "2026-03-03 10:30");
}

TEST_F(WorkflowCron, SomeNeverCome) {
  EXPECT_EQ(next("0 0 30 2 *", "2026-03-03 10:30:00"), "never");
  EXPECT_EQ(next("0 0 31 4,6,9,11 *", "2026-03-03 10:30:00"), "never");
}

TEST_F(WorkflowCron, Mistakes) {
  const auto mistake = [](const std::string& cron, const std::string& message) {
    expect_error(ErrorCode::usage, message, [&] { Cron::parse(cron); });
  };
  mistake("", "'' is no cron expression");
  mistake("* * * *", "expected MINUTE HOUR DAY MONTH WEEKDAY or @daily");
  mistake("* * * * * *", "is no cron expression");
  mistake("@often", "'@often' is no cron expression");
  mistake("60 * * * *", "'60' is no minute of a cron expression: expected 0 to 59");
  mistake("* 24 * * *", "'24' is no hour");
  mistake("* * 0 * *", "'0' is no day");
  mistake("* * * 13 *", "'13' is no month");
  mistake("* * * * 8", "'8' is no weekday");
  for (const char* minute :
       {"-1", "5-1", "1-", "-", "*/0", "*/", "1,", ",", "1//2", "1-2-3", "x", "1.5", "+1", "*5", "*/99"})
    mistake(std::string(minute) + " * * * *", fmt::format("'{}' is no minute", minute));
}

class WorkflowCronInSummer : public WorkflowCron {
 protected:
  WorkflowCronInSummer() : WorkflowCron("CET-1CEST,M3.5.0,M10.5.0/3") {}
};

TEST_F(WorkflowCronInSummer, AnHourThatIsLeftOutDoesNotCome) {
  EXPECT_EQ(next("30 2 * * *", "2026-03-28 12:00:00"), "2026-03-30 02:30");
  EXPECT_EQ(next("30 3 * * *", "2026-03-28 12:00:00"), "2026-03-29 03:30");
  EXPECT_EQ(next("0 0 * * *", "2026-03-28 12:00:00", 2), "2026-03-29 00:00, 2026-03-30 00:00");
}

TEST_F(WorkflowCronInSummer, AnHourThatComesTwiceRunsTwice) {
  EXPECT_EQ(next("30 2 25 10 *", "2026-10-24 12:00:00", 2), "2026-10-25 02:30, 2026-10-25 02:30");
}

// A clock of its own, which sleeping moves on.
class WorkflowSchedule : public testing::Test {
 protected:
  WorkflowSchedule() {
    options_.now = [this] { return static_cast<std::time_t>(clock_); };
    options_.sleep = [this](double seconds) {
      clock_ += seconds;
      if (at_sleep_) at_sleep_();
      return ++naps_ < kMostNaps;
    };
    options_.say = [this](const std::string& text) { said_.push_back(text); };
  }
  void keep(double run_takes = 0) {
    keep_schedule(options_, [&] {
      runs_.push_back(clock_);
      clock_ += run_takes;
      return goes_on_;
    });
  }
  void write(const std::string& name, const std::string& text) const { std::ofstream(directory_ / name) << text; }

  static constexpr int kMostNaps = 1000;
  const ScopedVariable zone_{"TZ", "UTC"};
  const TemporaryDirectory directory_;
  ScheduleOptions options_;
  std::function<void()> at_sleep_;
  double clock_ = 1e9;  // 01:46:40
  int naps_ = 0;
  bool goes_on_ = true;
  std::vector<double> runs_;
  std::vector<std::string> said_;
};

TEST_F(WorkflowSchedule, RunsAtEachTime) {
  tzset();
  options_.cron = Cron::parse("*/10 * * * *");
  options_.limit = 3;
  keep();
  EXPECT_EQ(runs_, (std::vector<double>{1e9 + 200, 1e9 + 800, 1e9 + 1400}));
  EXPECT_EQ(said_[0], "next run at 2001-09-09 01:50");
}

TEST_F(WorkflowSchedule, TimesThatPassDuringARunAreLeftOut) {
  options_.cron = Cron::parse("*/10 * * * *");
  options_.limit = 2;
  keep(1500);
  EXPECT_EQ(runs_, (std::vector<double>{1e9 + 200, 1e9 + 2000}));
}

TEST_F(WorkflowSchedule, EndsWhenItIsAskedTo) {
  options_.cron = Cron::parse("@hourly");
  goes_on_ = false;
  keep();
  EXPECT_EQ(runs_.size(), 1u);
  options_.cron = Cron::parse("0 0 30 2 *");
  expect_error(ErrorCode::usage, "never comes", [&] { keep(); });
}

TEST_F(WorkflowSchedule, WatchesContent) {
  write("data", "one");
  options_.watched = {directory_.path()};
  options_.limit = 3;
  at_sleep_ = [&] {
    if (naps_ == 5) fs::last_write_time(directory_ / "data", fs::file_time_type::clock::now() + std::chrono::hours(1));
    if (naps_ == 10) write("more", "two");
    if (naps_ == 20) write("more", "a");
    if (naps_ == 21) write("more", "ab");
    if (naps_ == 22) write("more", "abc");
  };
  keep();
  EXPECT_EQ(runs_, (std::vector<double>{1e9, 1e9 + 120, 1e9 + 240})) << "not for a new time, nor while it is written";
  EXPECT_EQ(said_, (std::vector<std::string>{"first run", "the data has changed", "the data has changed"}));
}

TEST_F(WorkflowSchedule, WaitsForDataThatIsNotThereYet) {
  options_.watched = {directory_ / "later"};
  options_.limit = 1;
  at_sleep_ = [&] {
    if (naps_ == 3) write("later", "x");
  };
  keep();
  EXPECT_EQ(runs_, std::vector<double>{1e9 + 50});
}

TEST_F(WorkflowSchedule, TheCommandRunsAWorkflowAgain) {
  write("w.yaml", "steps: {a: {run: \"true\"}}\n");
  const std::string file = (directory_ / "w.yaml").string();
  const std::vector<std::string> base = {"workflow", "schedule", file, "--state-dir", (directory_ / "state").string()};
  const auto run = [&](std::vector<std::string> more) {
    std::vector<std::string> arguments = base;
    arguments.insert(arguments.end(), more.begin(), more.end());
    return captured_run(arguments);
  };
  const CapturedRun once = run({"--watch", file, "--every", "10ms", "--limit", "1"});
  EXPECT_EQ(once.code, 0) << once.err;
  EXPECT_EQ(once.out, "w-1: succeeded\n");
  EXPECT_EQ(run({}).code, 2);
  EXPECT_EQ(run({"--watch", file, "--cron", "@daily"}).code, 2);
  EXPECT_EQ(run({"--cron", "soon"}).code, 2);
  EXPECT_EQ(run({"--watch", file, "--every", "x"}).code, 2);
}

}  // namespace
}  // namespace lockring::app::workflow
