// lockring models: the tables of architectures and recipes.
#include "models/models.h"

#include "apps/command.h"
#include "apps/terminal.h"
#include "models/recipes.h"
#include "nn/arena.h"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <memory>

namespace lockring::app {
namespace {

using Json = nlohmann::ordered_json;

std::int64_t parameter_count(const models::Architecture& architecture, const models::ImageSpec& images) {
  return nn::ArenaLayout(*architecture.build(images)).trainable();
}

Json table_json(const models::ImageSpec& images) {
  Json rows = Json::array();
  for (const models::Architecture& architecture : models::architectures()) {
    rows.push_back({{"name", architecture.name},
                    {"parameters", parameter_count(architecture, images)},
                    {"multiply_adds", models::multiply_adds(architecture, images)},
                    {"micro_batch", architecture.micro_batch},
                    {"purpose", architecture.purpose}});
  }
  Json recipes = Json::array();
  for (const models::Recipe& recipe : models::recipes())
    recipes.push_back({{"name", recipe.name}, {"purpose", models::purpose(recipe)}, {"text", recipe.text}});
  return {{"image", {{"height", images.height}, {"width", images.width}, {"channels", images.channels}}},
          {"classes", images.classes},
          {"models", rows},
          {"recipes", recipes}};
}

int run(bool json) {
  const models::ImageSpec images;
  if (json) {
    print("{}\n", table_json(images).dump(2));
    return 0;
  }
  print("  {:<12} {:>10} {:>14} {:>12}\n", "model", "parameters", "multiply-adds", "micro-batch");
  for (const models::Architecture& architecture : models::architectures()) {
    const std::string micro_batch =
        architecture.micro_batch > 0 ? std::to_string(architecture.micro_batch) : std::string("shard");
    print("  {:<12} {:>10} {:>14} {:>12}\n    {}\n", architecture.name,
          with_thousands(parameter_count(architecture, images)),
          with_thousands(models::multiply_adds(architecture, images)), micro_batch, architecture.purpose);
  }
  print(
      "\nFor images of {} x {} x {} in {} classes. Multiply-adds are those of one image's\n"
      "forward pass; the micro-batch is how many images a replica computes at once.\n",
      images.height, images.width, images.channels, images.classes);
  print("\nRecipes, for lockring train --recipe:\n");
  for (const models::Recipe& recipe : models::recipes()) print("  {:<12} {}\n", recipe.name, models::purpose(recipe));
  return 0;
}

}  // namespace

Action models(CLI::App& app) {
  auto json = std::make_shared<bool>(false);
  app.add_flag("--json", *json, "print one JSON object");
  app.footer("Example:\n  lockring models --json");
  return [json] { return run(*json); };
}

}  // namespace lockring::app
