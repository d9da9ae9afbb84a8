#include "apps/text_table.h"

#include <gtest/gtest.h>

namespace lockring::app {
namespace {

TEST(TextTable, AlignsColumns) {
  EXPECT_EQ(text_table({{"name", "n"}, {"a", "100"}, {"größe", "2"}}, {Align::left, Align::right}),
            "  name     n\n"
            "  a      100\n"
            "  größe    2\n");
}

TEST(TextTable, CellsCannotMoveTheCursor) {
  EXPECT_EQ(text_table({{"a\nb", "\x1b[2J"}}, {Align::left, Align::left}), "  a\\x0ab  \\x1b[2J\n");
}

TEST(TextTable, RowsMayBeShortOrEmpty) {
  EXPECT_EQ(text_table({{"a", "b"}, {}, {"c"}}, {Align::left, Align::left}), "  a  b\n\n  c\n");
  EXPECT_EQ(text_table({}, {}), "");
}

}  // namespace
}  // namespace lockring::app
