#include "models/recipes.h"

#include "tests/support/errors.h"

#include <gtest/gtest.h>

namespace lockring::models {
namespace {

TEST(Recipes, SayWhatTheyAreFor) {
  ASSERT_FALSE(recipes().empty());
  for (const Recipe& recipe : recipes()) {
    EXPECT_EQ(&find_recipe(recipe.name), &recipe);
    EXPECT_TRUE(recipe.text.starts_with("# ")) << recipe.name;
    EXPECT_GT(purpose(recipe).size(), 10) << recipe.name;
    EXPECT_EQ(purpose(recipe).find('\n'), std::string_view::npos);
  }
}

TEST(Recipes, AnUnknownOneIsRefusedWithTheNearest) {
  expect_error(ErrorCode::usage, "there is no recipe 'quik' (did you mean 'quick'?); there are",
               [] { find_recipe("quik"); });
}

}  // namespace
}  // namespace lockring::models
