#include "apps/sparkline.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace lockring::app {
namespace {

std::string line(const std::vector<double>& values, std::size_t columns = 50, bool utf8 = true) {
  return sparkline(values, columns, utf8);
}

TEST(Sparkline, RisesFromTheLeastToTheLargest) {
  EXPECT_EQ(line({0, 1, 2, 3, 4, 5, 6, 7}), "▁▂▃▄▅▆▇█");
  EXPECT_EQ(line({3, -1, 7}), "▅▁█");
  EXPECT_EQ(line({0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, 50, false), "0123456789");
}

TEST(Sparkline, OfOneValueIsInTheMiddle) {
  EXPECT_EQ(line({2, 2, 2}), "▅▅▅");
  EXPECT_EQ(line({0}, 50, false), "5");
  EXPECT_EQ(line({}), "");
}

TEST(Sparkline, MarksWhatIsNotFinite) {
  EXPECT_EQ(line({1, std::nan(""), 2, std::numeric_limits<double>::infinity()}), "▁?█?");
  EXPECT_EQ(line({std::nan("")}), "?");
}

TEST(Sparkline, TakesMeansWhereThereAreManyValues) {
  EXPECT_EQ(line({0, 2, 9, 11, 20, 22}, 3, false), "049");
  std::vector<double> many(1000);
  for (std::size_t i = 0; i < many.size(); ++i) many[i] = static_cast<double>(i);
  EXPECT_EQ(line(many, 10, false), "0123456789");
  EXPECT_EQ(line(many, 7, false).size(), 7u);
}

}  // namespace
}  // namespace lockring::app
