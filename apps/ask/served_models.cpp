#include "apps/ask/served_models.h"

#include "core/error.h"
#include "core/text.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <span>
#include <utility>

namespace lockring::app {
namespace {

using Json = nlohmann::json;

ServedModel read_model(const Json& json) {
  ServedModel model;
  model.name = json.at("name").get<std::string>();
  model.what = json.at("architecture").get<std::string>();
  model.is_ensemble = !json.at("members").empty();
  if (model.is_ensemble) {
    std::vector<std::string> members;
    for (const Json& member : json.at("members")) members.push_back(member.at("name").get<std::string>());
    model.what = json.at("method").get<std::string>() + " of " + joined(members);
  }
  const Json& metrics = json.at("metrics");
  if (metrics.contains("val_accuracy")) model.validated = metrics["val_accuracy"].get<double>();
  model.image = json.at("image").get<std::array<std::int64_t, 3>>();
  model.classes = json.at("classes").get<std::vector<std::string>>();
  return model;
}

std::string target_of(const ServedModel& model) { return "/v2/models/" + http::percent_encode(model.name); }

// What stands in front of the images' bytes.
std::string request_head(const std::string& input, const Shape& shape) {
  return Json{{"inputs",
               {{{"name", input},
                 {"datatype", "UINT8"},
                 {"shape", {shape[0], shape[1], shape[2], shape[3]}},
                 {"parameters", {{"binary_data_size", shape.elements()}}}}}},
              {"outputs", {{{"name", "probabilities"}}}}}
      .dump();
}

Json parse(const AskedServer& server, const std::string& text) {
  Json json = Json::parse(text, nullptr, false);
  check(json.is_object(), ErrorCode::device, "{} answers with what is no JSON object", server.url().authority());
  return json;
}

[[noreturn]] void fail_at_answer(const AskedServer& server, const Json::exception& error) {
  fail(ErrorCode::device, "{} does not answer as lockring serve does: {}", server.url().authority(), error.what());
}

}  // namespace

std::vector<ServedModel> served_models(const AskedServer& server) {
  std::vector<ServedModel> models;
  const Json status = parse(server, server.get("/status"));
  try {
    for (const Json& json : status.at("models")) {
      ServedModel model = read_model(json);
      model.input = parse(server, server.get(target_of(model))).at("inputs").at(0).at("name").get<std::string>();
      models.push_back(std::move(model));
    }
  } catch (const Json::exception& error) {
    fail_at_answer(server, error);
  }
  check(!models.empty(), ErrorCode::device, "{} serves no models", server.url().authority());
  std::ranges::stable_partition(models, [](const ServedModel& model) { return !model.is_ensemble; });
  return models;
}

Tensor ask(const AskedServer& server, const ServedModel& model, const Tensor& images) {
  const std::string head = request_head(model.input, images.shape());
  try {
    const auto* bytes = reinterpret_cast<const char*>(images.data<std::uint8_t>());
    const Json answer = parse(server, server.post(target_of(model) + "/infer",
                                                  {{"Content-Type", "application/octet-stream"},
                                                   {"Inference-Header-Content-Length", std::to_string(head.size())}},
                                                  head + std::string(bytes, static_cast<std::size_t>(images.bytes()))));
    const auto probabilities = answer.at("outputs").at(0).at("data").get<std::vector<float>>();
    const auto classes = static_cast<std::int64_t>(model.classes.size());
    check(std::ssize(probabilities) == images.size(0) * classes, ErrorCode::device,
          "{} gives {} probabilities for {} images of {} classes", printable(model.name), probabilities.size(),
          images.size(0), classes);
    return Tensor::from(std::span<const float>(probabilities), {images.size(0), classes});
  } catch (const Json::exception& error) {
    fail_at_answer(server, error);
  }
}

}  // namespace lockring::app
