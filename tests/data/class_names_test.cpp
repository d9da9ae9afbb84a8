#include "data/class_names.h"

#include "tests/data/small_files.h"
#include "tests/support/errors.h"
#include "tests/support/temporary_directory.h"

#include <gtest/gtest.h>

namespace lockring::data {
namespace {

void expect_bad(const std::vector<std::string>& names, std::string_view part) {
  expect_error(ErrorCode::data, part, [&] { check_class_names(names, "here"); });
}

TEST(ClassNames, AreReadAsTheyAreWritten) {
  const TemporaryDirectory folder;
  const std::vector<std::string> names = {"T-shirt/top", "Übergröße", "日本", " two  words ", "9"};
  write(folder / "names", class_file_text(names));
  EXPECT_EQ(read_class_names(folder / "names"), names);
  // As editors on other systems end lines, and with empty ones at the end.
  write(folder / "names", "a\r\nb\r\n\r\n\n");
  EXPECT_EQ(read_class_names(folder / "names"), (std::vector<std::string>{"a", "b"}));
  write(folder / "names", "a\n\nb\n");
  expect_error(ErrorCode::data, "names: class 1: expected a name", [&] { read_class_names(folder / "names"); });
  write(folder / "names", "\n\n");
  expect_error(ErrorCode::data, "names: expected 1 to 256 classes, found 0",
               [&] { read_class_names(folder / "names"); });
}

TEST(ClassNames, AreDifferentAndPrintable) {
  check_class_names(numbered_classes(256), "here");
  expect_bad(numbered_classes(257), "here: expected 1 to 256 classes, found 257");
  expect_bad({"a", "b", "a"}, "here: class 2: the name 'a' is there twice");
  // Control characters, Latin-1, and UTF-8 that is cut off, overlong or beyond Unicode.
  for (const char* name :
       {"", "a\tb", "\x1b[31m", "a\x7f", "caf\xe9", "\xe6\x97", "\xc0\xaf", "\xf5\x80\x80\x80", "\x80"})
    expect_bad({name}, "class 0: expected a name of printable UTF-8");
}

TEST(ClassNames, NumbersCountUp) {
  EXPECT_EQ(numbered_classes(3), (std::vector<std::string>{"0", "1", "2"}));
  EXPECT_TRUE(numbered_classes(0).empty());
}

}  // namespace
}  // namespace lockring::data
