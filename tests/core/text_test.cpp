#include "core/text.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace lockring {
namespace {

const std::vector<std::string> kModels = {"mlp", "cnn", "cnn_bn", "cnn_dropout", "lenet", "resnet"};

TEST(Counted, SaysOneAndMany) {
  EXPECT_EQ(counted(0, "machine"), "0 machines");
  EXPECT_EQ(counted(1, "machine"), "1 machine");
  EXPECT_EQ(counted(2, "machine"), "2 machines");
}

TEST(Nearest, FindsALikelyTypo) {
  EXPECT_EQ(nearest("renset", kModels), "resnet");
  EXPECT_EQ(nearest("lenett", kModels), "lenet");
  EXPECT_EQ(nearest("cn", kModels), "cnn");
  EXPECT_EQ(nearest("cnn_dopout", kModels), "cnn_dropout");
  EXPECT_EQ(nearest("mlp", kModels), "mlp");
}

TEST(Nearest, PrefersTheNearest) { EXPECT_EQ(nearest("cnn_bm", kModels), "cnn_bn"); }

TEST(Nearest, FindsNothingFarAway) {
  EXPECT_EQ(nearest("transformer", kModels), "");
  EXPECT_EQ(nearest("", kModels), "");
  EXPECT_EQ(nearest("cnn", {}), "");
}

TEST(Nearest, TakesNoTimeForAWordLikeAFile) {
  EXPECT_EQ(nearest(std::string(std::size_t{1} << 30, 'x'), kModels), "");
  EXPECT_EQ(nearest("cnn_dropoutabc", kModels), "cnn_dropout");
}

TEST(Printable, LeavesTextAndEscapesTheRest) {
  for (const char* text : {"", "T-shirt/top", "gr\u00f6\u00dfe \u20ac \U0001F600"}) {
    EXPECT_TRUE(is_printable(text)) << text;
    EXPECT_EQ(printable(text), text);
  }
  EXPECT_EQ(printable("a\nb\x1b[2J"), "a\\x0ab\\x1b[2J");
  EXPECT_EQ(printable(std::string("\0", 1)), "\\x00");
  EXPECT_EQ(printable("caf\xe9"), "caf\\xe9");
  EXPECT_EQ(printable("\xc2\x9b"
                      "2J"),
            "\\xc2\\x9b2J");  // the control sequence introducer in one character
  for (const char* text : {"\x7f", "\t", "\xc3", "\xe2\x82", "\x80", "\xff", "\xc2\x85"})
    EXPECT_FALSE(is_printable(text));
}

TEST(Printable, CutsWhatNobodyReads) {
  EXPECT_EQ(printable(std::string(2000, 'x')), std::string(2000, 'x'));
  const std::string half(1000, 'x');
  EXPECT_EQ(printable(fmt::format("a{}\n", std::string(999'998, 'x'))),
            fmt::format("a{0} ... 998000 bytes ... {0}\\x0a", half.substr(1)));
}

TEST(DidYouMean, EndsAMessage) {
  EXPECT_EQ(did_you_mean("renset", kModels), " (did you mean 'resnet'?)");
  EXPECT_EQ(did_you_mean("transformer", kModels), "");
}

TEST(Joined, SeparatesAllWords) {
  EXPECT_EQ(joined(std::vector<std::string>{"a", "b", "c"}), "a, b, c");
  EXPECT_EQ(joined(std::vector<std::string>{"a", "b"}, "|"), "a|b");
  EXPECT_EQ(joined(std::vector<std::string>{"", "b", ""}), ", b, ");
  EXPECT_EQ(joined({}), "");
}

}  // namespace
}  // namespace lockring
