#include "apps/report.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

namespace lockring::app {
namespace {

Evaluation three_classes() {
  Evaluation evaluation;
  evaluation.classes = 3;
  evaluation.confusion = {6, 2, 0,   // of the first class, two taken for the second
                          0, 4, 0,   //
                          0, 0, 0};  // none of the third
  return evaluation;
}

TEST(ClassScores, FollowTheirDefinitions) {
  const std::vector<ClassScore> scores = class_scores(three_classes());
  ASSERT_EQ(scores.size(), 3u);
  EXPECT_EQ(scores[0].count, 8);
  EXPECT_EQ(scores[0].precision, 1);
  EXPECT_EQ(scores[0].recall, 0.75);
  EXPECT_DOUBLE_EQ(scores[0].f1, 6.0 / 7);
  EXPECT_EQ(scores[1].count, 4);
  EXPECT_DOUBLE_EQ(scores[1].precision, 4.0 / 6);
  EXPECT_EQ(scores[1].recall, 1);
  EXPECT_DOUBLE_EQ(scores[1].f1, 0.8);
  EXPECT_EQ(scores[2].count, 0);
  EXPECT_EQ(scores[2].precision, 0);
  EXPECT_EQ(scores[2].recall, 0);
  EXPECT_EQ(scores[2].f1, 0);
}

TEST(ClassTable, IsAligned) {
  const std::vector<std::string> names = {"größe", "b", "a name of many letters"};
  EXPECT_EQ(class_table(three_classes(), names),
            "  class             precision   recall       F1    images\n"
            "  größe                1.0000   0.7500   0.8571         8\n"
            "  b                    0.6667   1.0000   0.8000         4\n"
            "  a name of many l     0.0000   0.0000   0.0000         0\n"
            "  mean                 0.5556   0.5833   0.5524        12\n");
}

TEST(ConfusionTable, IsAligned) {
  const std::vector<std::string> names = {"größer", "b", "c"};
  EXPECT_EQ(confusion_table(three_classes(), names),
            "          predicted\n"
            "  true   größe     b     c\n"
            "  größer     6     2     .\n"
            "  b          .     4     .\n"
            "  c          .     .     .\n");
}

TEST(ConfusionTable, OfTenClassesFitsATerminal) {
  Evaluation evaluation;
  evaluation.classes = 10;
  evaluation.confusion.assign(100, 99999);
  const std::vector<std::string> names(10, "a name of many letters");
  std::istringstream lines(confusion_table(evaluation, names));
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count) EXPECT_LE(line.size(), 80u) << line;
  EXPECT_EQ(count, 12);
}

}  // namespace
}  // namespace lockring::app
