#include "apps/toml.h"

#include "tests/support/errors.h"

#include <gtest/gtest.h>

namespace lockring::app {
namespace {

using Values = std::vector<std::string>;

Values values_of(std::string_view text) {
  const std::vector<TomlEntry> entries = parse_toml(text, "f.toml");
  EXPECT_EQ(entries.size(), 1u);
  return entries.empty() ? Values{} : entries[0].values;
}

void expect_rejected(std::string_view text, std::string_view part) {
  expect_error(ErrorCode::usage, part, [&] { parse_toml(text, "f.toml"); });
}

TEST(Toml, ReadsKeysSectionsAndComments) {
  const auto entries =
      parse_toml("# first\nlr = 0.1 # rate\n\r\n[data.ingest]\n  name = 'a'\n[train]\nx.y = 1", "f.toml");
  ASSERT_EQ(entries.size(), 3u);
  EXPECT_EQ(entries[0].section, "");
  EXPECT_EQ(entries[0].key, "lr");
  EXPECT_EQ(entries[0].values, Values{"0.1"});
  EXPECT_EQ(entries[0].line, 2);
  EXPECT_EQ(entries[1].section, "data.ingest");
  EXPECT_EQ(entries[1].key, "name");
  EXPECT_EQ(entries[1].line, 5);
  EXPECT_EQ(entries[2].section, "train.x");
  EXPECT_EQ(entries[2].key, "y");
}

TEST(Toml, ReadsScalars) {
  EXPECT_EQ(values_of("a = true"), Values{"true"});
  EXPECT_EQ(values_of("a = -1_000"), Values{"-1000"});
  EXPECT_EQ(values_of("a = 1e-3"), Values{"1e-3"});
  EXPECT_EQ(values_of("a = 0xBEEF"), Values{"0xBEEF"});
  EXPECT_EQ(values_of("a = inf"), Values{"inf"});
}

TEST(Toml, ReadsStrings) {
  EXPECT_EQ(values_of(R"(a = "x # y")"), Values{"x # y"});
  EXPECT_EQ(values_of(R"(a = "tab\t \"q\" \\ \u00e9 \U0001F600")"), Values{"tab\t \"q\" \\ \u00e9 \U0001F600"});
  EXPECT_EQ(values_of(R"(a = 'C:\new "x"')"), Values{R"(C:\new "x")"});
  EXPECT_EQ(values_of(R"(a = "")"), Values{""});
  EXPECT_EQ(values_of(R"("quoted key" = 1)"), Values{"1"});
}

TEST(Toml, ReadsArrays) {
  EXPECT_EQ(values_of("a = [1, 2,3]"), (Values{"1", "2", "3"}));
  EXPECT_EQ(values_of("a = [\n  'x,y', # one\n  \"z\",\n]"), (Values{"x,y", "z"}));
  EXPECT_EQ(values_of("a = []"), Values{});
}

TEST(Toml, RejectsWhatItDoesNotRead) {
  expect_rejected("a = cnn", "f.toml:1: 'cnn' is not a number or boolean; strings need quotes");
  expect_rejected("\n\na 1", "f.toml:3: expected '=' after 'a'");
  expect_rejected("a = 1 2", "expected the end of the line, found '2'");
  expect_rejected("a =", "expected a value");
  expect_rejected("= 1", "expected a key");
  expect_rejected("a = 'x\nb = 1", "f.toml:1: a string lacks its closing '");
  expect_rejected("a = \"x", "a string lacks its closing \"");
  expect_rejected(R"(a = "\q")", "unknown escape '\\q'");
  expect_rejected(R"(a = "\ud800")", "hex digits");
  expect_rejected(R"(a = "\u12")", "hex digits");
  expect_rejected("a = [1\nb = 2", "expected ',' or ']'");
  expect_rejected("a = [1,", "an array lacks its ']'");
  expect_rejected("[train", "expected ']'");
  expect_rejected("[[train]]", "expected a key");
  expect_rejected("a = { b = 1 }", "expected a value");
  expect_rejected("a = 2024-01-31", "not a number");
  expect_rejected("a = 007", "not a number");
  expect_rejected("a = 1\na = 2", "f.toml:2: 'a' is set twice");
}

TEST(Toml, RejectsControlCharacters) {
  expect_rejected("a = 1\n# \x1b[2J", "f.toml:2: expected text, found the control character 1b");
  expect_rejected(std::string_view("a = 1\0", 6), "f.toml:1: expected text, found the control character 00");
  expect_rejected("a = '\x7f'", "the control character 7f");
  EXPECT_EQ(values_of("a = '\t\xe9'"), Values{"\t\xe9"});
}

TEST(Toml, UnderscoresStandBetweenDigits) {
  EXPECT_EQ(values_of("a = 1_0.0_1e1_0"), Values{"10.01e10"});
  EXPECT_EQ(values_of("a = 0xBE_EF"), Values{"0xBEEF"});
  for (const char* bad : {"a = _1", "a = 1_", "a = 1__0", "a = 1_.0", "a = tr_ue", "a = 0_x1", "a = +_1"})
    expect_rejected(bad, "not a number");
}

// A pattern matched by recursion would run out of stack.
TEST(Toml, LongValuesAreReadAndWritten) {
  const std::string digits(3'000'000, '7');
  EXPECT_EQ(values_of("a = " + digits), Values{digits});
  EXPECT_EQ(toml_value(digits), digits);
  EXPECT_EQ(toml_value(digits + "x").size(), digits.size() + 3);
}

TEST(Toml, WritesWhatItReads) {
  const Values texts = {"true", "1e-3", "-5",   "007", "1_000",    "",     "cnn",        "it's \"so\"", "a\\b",
                        "#,[]", " x ",  "\x01", "\n",  "\xc3\xa9", "\x7f", "2024-01-31", "0x1F"};
  for (const std::string& text : texts) EXPECT_EQ(values_of("a = " + toml_value(text)), Values{text});
}

TEST(Toml, QuotesOnlyWhatNeedsIt) {
  EXPECT_EQ(toml_value("128"), "128");
  EXPECT_EQ(toml_value("false"), "false");
  EXPECT_EQ(toml_value("cnn"), "\"cnn\"");
  EXPECT_EQ(toml_value("1_000"), "\"1_000\"");
}

}  // namespace
}  // namespace lockring::app
