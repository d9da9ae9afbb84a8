#include "models/recipes.h"

#include "core/error.h"
#include "core/text.h"

#include <algorithm>
#include <vector>

namespace lockring::models {

const Recipe& find_recipe(std::string_view name) {
  const auto found = std::ranges::find(recipes(), name, &Recipe::name);
  if (found != recipes().end()) return *found;
  std::vector<std::string> names;
  for (const Recipe& recipe : recipes()) names.emplace_back(recipe.name);
  fail(ErrorCode::usage, "there is no recipe '{}'{}; there are {}", name, did_you_mean(name, names), joined(names));
}

std::string_view purpose(const Recipe& recipe) {
  const std::string_view line = recipe.text.substr(0, recipe.text.find('\n'));
  return line.substr(std::min(line.find_first_not_of("# "), line.size()));
}

}  // namespace lockring::models
