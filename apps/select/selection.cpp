#include "apps/select/selection.h"

#include "core/error.h"
#include "core/files.h"
#include "core/text.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cctype>
#include <cmath>

namespace lockring::app {
namespace fs = std::filesystem;
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kFormat = "lockring-selection";
constexpr int kFormatVersion = 1;
constexpr std::size_t kLongestName = 128;

bool is_name_character(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '_' || c == '-';
}

Json model_json(const SelectedModel& model, const fs::path& folder) {
  Json metrics = Json::object();
  for (const auto& [name, value] : model.metrics) metrics[name] = std::isfinite(value) ? Json(value) : Json(nullptr);
  return {{"name", model.name},     {"bundle", fs::proximate(model.bundle, folder).generic_string()},
          {"sha256", model.digest}, {"architecture", model.architecture},
          {"run", model.run},       {"reproduced", model.reproduced},
          {"why", model.why},       {"metrics", std::move(metrics)}};
}

// "" if it is not there.
std::string text_of(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

bool is_digest(const std::string& text) {
  return text.size() == 64 && text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

SelectedModel model_from(const Json& json, const fs::path& folder, const std::string& where) {
  check(json.is_object(), ErrorCode::data, "{}: expected an object with name, bundle and sha256", where);
  SelectedModel model{.name = text_of(json, "name"),
                      .bundle = folder / text_of(json, "bundle"),
                      .digest = text_of(json, "sha256"),
                      .architecture = text_of(json, "architecture"),
                      .run = text_of(json, "run"),
                      .metrics = {},
                      .why = text_of(json, "why")};
  check(is_model_name(model.name), ErrorCode::data, "{}: name is '{}'; expected letters, digits, '.', '_' and '-'",
        where, model.name);
  check(!text_of(json, "bundle").empty(), ErrorCode::data, "{}: has no bundle", where);
  check(is_digest(model.digest), ErrorCode::data, "{}: sha256 is '{}'; expected 64 hexadecimal digits", where,
        model.digest);
  if (json.contains("metrics") && json["metrics"].is_object())
    for (const auto& [name, value] : json["metrics"].items())
      if (value.is_number()) model.metrics[name] = value.get<double>();
  model.reproduced = json.contains("reproduced") && json["reproduced"] == true;
  return model;
}

}  // namespace

bool is_model_name(std::string_view name) {
  return !name.empty() && name.size() <= kLongestName && name.front() != '.' &&
         std::ranges::all_of(name, is_name_character);
}

std::string model_name_for(std::string_view text, const std::vector<std::string>& taken) {
  constexpr std::size_t kRoomForNumber = 8;
  std::string name;
  for (const char c : text.substr(0, kLongestName - kRoomForNumber)) name += is_name_character(c) ? c : '_';
  while (name.starts_with('.')) name.erase(0, 1);
  if (name.empty()) name = "model";
  const std::string base = name;
  for (int number = 2; std::ranges::count(taken, name) > 0; ++number) name = fmt::format("{}-{}", base, number);
  return name;
}

void write_selection(const fs::path& path, const Selection& selection) {
  Json models = Json::array();
  for (const SelectedModel& model : selection.models)
    models.push_back(model_json(model, fs::absolute(path).parent_path()));
  const Json json = {
      {"format", kFormat}, {"format_version", kFormatVersion}, {"metric", selection.metric}, {"models", models}};
  write_file(path, json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
}

Selection read_selection(const fs::path& path) {
  const Json json = Json::parse(read_file(path), nullptr, false);
  check(json.is_object() && text_of(json, "format") == kFormat, ErrorCode::data, "{} is not a selection of models",
        path.string());
  check(json.value("format_version", Json(0)) == kFormatVersion, ErrorCode::data,
        "{}: expected a selection of format version {}, found {}", path.string(), kFormatVersion,
        json.value("format_version", Json(nullptr)).dump());
  const auto models = json.find("models");
  check(models != json.end() && models->is_array() && !models->empty(), ErrorCode::data, "{}: has no models",
        path.string());
  Selection selection{.metric = text_of(json, "metric"), .models = {}};
  for (const Json& model : *models) {
    const std::string where = fmt::format("{}: models[{}]", path.string(), selection.models.size());
    selection.models.push_back(model_from(model, path.parent_path(), where));
    const std::string& name = selection.models.back().name;
    check(std::ranges::count(selection.models, name, &SelectedModel::name) == 1, ErrorCode::data,
          "{}: a second model is called '{}'", where, name);
  }
  return selection;
}

}  // namespace lockring::app
