#include "core/text.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace lockring {
namespace {

const std::vector<std::string> kModels = {"mlp", "cnn", "cnn_bn", "cnn_dropout", "lenet", "resnet"};

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
