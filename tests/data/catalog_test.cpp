#include "data/catalog.h"

#include <gtest/gtest.h>

#include <numeric>

namespace lockring::data {
namespace {

TEST(Catalog, FindsNames) {
  ASSERT_NE(find_known_dataset("fashion-mnist"), nullptr);
  EXPECT_EQ(find_known_dataset("fashion-mnist")->classes[9], "Ankle boot");
  EXPECT_EQ(find_known_dataset("fashion"), nullptr);
}

TEST(Catalog, RecognisesContentByAnyOfItsMarks) {
  ContentMarks marks;
  EXPECT_EQ(find_known_content(marks), nullptr);
  marks.digest = find_known_dataset("fashion-mnist")->marks.digest;
  EXPECT_EQ(find_known_content(marks)->name, "fashion-mnist");
  marks = {.label_file = find_known_dataset("kmnist")->marks.label_file};
  EXPECT_EQ(find_known_content(marks)->name, "kmnist");
  const ContentMarks& mnist = find_known_dataset("mnist")->marks;
  marks = {.train_per_class = mnist.train_per_class, .test_per_class = mnist.test_per_class};
  EXPECT_EQ(find_known_content(marks)->name, "mnist");
  --marks.test_per_class[0];
  EXPECT_EQ(find_known_content(marks), nullptr);
}

TEST(Catalog, CountsAddUp) {
  const ContentMarks& mnist = find_known_dataset("mnist")->marks;
  const auto sum = [](const std::vector<std::int64_t>& counts) {
    return std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
  };
  EXPECT_EQ(sum(mnist.train_per_class), 60000);
  EXPECT_EQ(sum(mnist.test_per_class), 10000);
}

}  // namespace
}  // namespace lockring::data
