// Named settings of training, compiled into the program: the files models/recipes/NAME.toml, which --config would take
// as well. Each was chosen on images held out of the training set.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace lockring::models {

struct Recipe {
  std::string_view name;
  std::string_view text;  // TOML; its first line is a comment that says what the recipe is for
};

// By name.
std::span<const Recipe> recipes();
// Throws Error{usage}, suggesting the nearest.
const Recipe& find_recipe(std::string_view name);
// "cnn in ten epochs"
std::string_view purpose(const Recipe& recipe);

}  // namespace lockring::models
