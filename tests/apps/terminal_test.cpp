#include "apps/terminal.h"

#include "tests/apps/scoped_variable.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace lockring::app {
namespace {

TEST(Terminal, Thousands) {
  EXPECT_EQ(with_thousands(0), "0");
  EXPECT_EQ(with_thousands(999), "999");
  EXPECT_EQ(with_thousands(1000), "1,000");
  EXPECT_EQ(with_thousands(1234567), "1,234,567");
  EXPECT_EQ(with_thousands(-123), "-123");
  EXPECT_EQ(with_thousands(-123456), "-123,456");
  EXPECT_EQ(with_thousands(std::numeric_limits<std::int64_t>::min()), "-9,223,372,036,854,775,808");
}

TEST(Terminal, Columns) {
  EXPECT_EQ(columns_of(""), 0);
  EXPECT_EQ(columns_of("größe ▁"), 7);
}

TEST(Terminal, Durations) {
  EXPECT_EQ(duration_text(0), "0 ms");
  EXPECT_EQ(duration_text(0.9994), "999 ms");
  EXPECT_EQ(duration_text(0.9996), "1.0 s");
  EXPECT_EQ(duration_text(59.94), "59.9 s");
  EXPECT_EQ(duration_text(59.96), "1 min 00 s");
  EXPECT_EQ(duration_text(247), "4 min 07 s");
  EXPECT_EQ(duration_text(3599.4), "59 min 59 s");
  EXPECT_EQ(duration_text(7500), "2 h 05 min");
  EXPECT_EQ(duration_text(-1), "?");
  EXPECT_EQ(duration_text(std::nan("")), "?");
}

TEST(Terminal, Bytes) {
  EXPECT_EQ(bytes_text(0), "0 B");
  EXPECT_EQ(bytes_text(1023), "1023 B");
  EXPECT_EQ(bytes_text(1024), "1 KiB");
  EXPECT_EQ(bytes_text(1536), "1.5 KiB");
  EXPECT_EQ(bytes_text(1024 * 1024 - 1), "1 MiB");
  EXPECT_EQ(bytes_text(52.4 * 1024 * 1024), "52 MiB");
}

TEST(Terminal, Utf8FollowsTheLocale) {
  const ScopedVariable term("TERM", "xterm");
  const ScopedVariable all("LC_ALL");
  const ScopedVariable ctype("LC_CTYPE", "");
  const ScopedVariable lang("LANG", "de_DE.UTF-8");
  EXPECT_TRUE(shows_utf8());
  {
    const ScopedVariable wins("LC_ALL", "C");
    EXPECT_FALSE(shows_utf8());
  }
  {
    const ScopedVariable wins("LC_CTYPE", "en_US.utf8");
    const ScopedVariable loses("LANG", "C");
    EXPECT_TRUE(shows_utf8());
  }
  const ScopedVariable dumb("TERM", "dumb");
  EXPECT_FALSE(shows_utf8());
}

}  // namespace
}  // namespace lockring::app
