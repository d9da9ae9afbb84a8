#include "apps/runs/metric.h"

#include "tests/support/errors.h"

#include <gtest/gtest.h>

#include <cmath>

namespace lockring::app {
namespace {

RunRecord run(const std::string& name, Metrics metrics, RunState state = RunState::finished) {
  RunRecord record;
  record.path = name;
  record.metrics = std::move(metrics);
  record.status.state = state;
  return record;
}

std::string order(std::vector<RunRecord> runs, const std::string& metric) {
  rank(runs, metric);
  std::string names;
  for (const RunRecord& record : runs) names += record.path.string();
  return names;
}

TEST(Metric, IsShownInItsUnit) {
  const RunRecord record = run("a", {{"val_accuracy", 0.86384},
                                     {"val_loss", 1.48e22},
                                     {"train_loss", 0.00012345},
                                     {"steps", 12345},
                                     {"seconds", 200},
                                     {"peak_rss_bytes", 1 << 20},
                                     {"data_wait_fraction", 0.0041},
                                     {"test_loss", std::nan("")},
                                     {"epochs", 1e300},
                                     {"custom", 3}});
  EXPECT_EQ(metric_text(record, "val_accuracy"), "0.8638");
  EXPECT_EQ(metric_text(record, "val_loss"), "1.48e+22");
  EXPECT_EQ(metric_text(record, "train_loss"), "0.000123");
  EXPECT_EQ(metric_text(record, "steps"), "12,345");
  EXPECT_EQ(metric_text(record, "seconds"), "3 min 20 s");
  EXPECT_EQ(metric_text(record, "peak_rss_bytes"), "1 MiB");
  EXPECT_EQ(metric_text(record, "data_wait_fraction"), "0.4 %");
  EXPECT_EQ(metric_text(record, "test_loss"), "nan");
  EXPECT_EQ(metric_text(record, "test_accuracy"), "-");
  EXPECT_EQ(metric_text(record, "epochs"), "1e+300");
  EXPECT_EQ(metric_text(record, "custom"), "3.0000");
}

TEST(Metric, RanksNaNLastBothWays) {
  const double nan = std::nan("");
  const std::vector<RunRecord> runs = {run("a", {{"val_accuracy", 0.5}, {"val_loss", 0.5}}),
                                       run("b", {{"val_accuracy", nan}, {"val_loss", nan}}),
                                       run("c", {{"val_accuracy", 0.4}, {"val_loss", 0.4}}), run("d", {})};
  EXPECT_EQ(order(runs, "val_accuracy"), "acbd");
  EXPECT_EQ(order(runs, "val_loss"), "cabd");
}

TEST(Metric, RanksUnfinishedRunsAfterFinishedOnes) {
  const std::vector<RunRecord> runs = {
      run("a", {{"val_accuracy", 0.9}}, RunState::running), run("b", {{"val_accuracy", 0.5}}),
      run("c", {{"val_accuracy", 0.95}}, RunState::stopped),
      run("d", {{"val_accuracy", std::nan("")}}, RunState::diverged), run("e", {{"val_accuracy", 0.7}})};
  EXPECT_EQ(order(runs, "val_accuracy"), "ebcad");
}

TEST(Metric, EqualRunsKeepTheirOrder) {
  EXPECT_EQ(order({run("b", {{"steps", 1}}), run("a", {{"steps", 1}}), run("c", {{"steps", 2}})}, "steps"), "cba");
}

TEST(Metric, IsNamedInFullOrByItsHeading) {
  const std::vector<RunRecord> runs = {run("a", {{"val_accuracy", 0.5}, {"custom", 1}})};
  EXPECT_EQ(find_metric("val_accuracy", runs), "val_accuracy");
  EXPECT_EQ(find_metric("val_acc", runs), "val_accuracy");
  EXPECT_EQ(find_metric("img/s", runs), "images_per_second");
  EXPECT_EQ(find_metric("test_accuracy", runs), "test_accuracy") << "none has it yet";
  EXPECT_EQ(find_metric("custom", runs), "custom");
  expect_error(ErrorCode::usage,
               "there is no metric 'val_acuracy' (did you mean 'val_accuracy'?); there are val_accuracy, custom",
               [&] { find_metric("val_acuracy", runs); });
  EXPECT_EQ(heading("custom"), "custom");
}

TEST(Metric, TheBestIsMarkedWhereThereIsABetter) {
  const std::vector<RunRecord> runs = {run("a", {{"val_loss", 0.5}, {"steps", 3}, {"val_accuracy", std::nan("")}}),
                                       run("b", {{"val_loss", 0.4}, {"steps", 4}}), run("c", {{"val_loss", 0.4}})};
  EXPECT_FALSE(is_best(runs[0], runs, "val_loss"));
  EXPECT_TRUE(is_best(runs[1], runs, "val_loss"));
  EXPECT_TRUE(is_best(runs[2], runs, "val_loss"));
  EXPECT_FALSE(is_best(runs[1], runs, "steps"));
  EXPECT_FALSE(is_best(runs[0], runs, "val_accuracy"));
  EXPECT_FALSE(is_best(runs[2], runs, "steps"));
}

TEST(Metric, SpeedsAndMemoryAreOfTheMachine) {
  for (const char* name : {"images_per_second", "img/s", "wall_seconds", "peak_rss_bytes", "replicas"})
    EXPECT_TRUE(is_of_machine(name)) << name;
  for (const char* name : {"val_accuracy", "test_loss", "epochs", "parameters", "unheard_of"})
    EXPECT_FALSE(is_of_machine(name)) << name;
}

}  // namespace
}  // namespace lockring::app
