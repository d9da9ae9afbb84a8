// The API as OpenAPI 3.0 describes APIs, for documentation, generated clients and fuzzers.
#include "apps/program.h"
#include "apps/serve/describe.h"

#include <nlohmann/json.hpp>

namespace lockring::app::serve {
namespace {

using Json = nlohmann::ordered_json;

Json content(const Json& schema, const char* type = "application/json") { return {{type, {{"schema", schema}}}}; }

Json reference(const char* name) { return {{"$ref", std::string("#/components/schemas/") + name}}; }

Json answer(const char* description, const Json& schema) {
  return {{"description", description}, {"content", content(schema)}};
}

// The answers that any path may give, beside its own.
Json responses(Json own, std::initializer_list<int> errors) {
  static const std::map<int, const char*> kMeanings = {
      {400, "something is wrong with the request; the message names it"},
      {404, "there is no such model, version, job or path"},
      {405, "another method is expected; Allow names it"},
      {409, "not done yet"},
      {410, "it was cancelled"},
      {413, "the body is too large"},
      {422, "the idempotency key was used with another request"},
      {500, "the server failed"},
      {503, "not ready, or overloaded; Retry-After says when to try again"},
      {504, "the deadline has passed"}};
  for (const int status : errors) own[std::to_string(status)] = answer(kMeanings.at(status), reference("Error"));
  return own;
}

Json path_parameter(const char* name, const Json& schema, const char* description) {
  return {{"name", name}, {"in", "path"}, {"required", true}, {"description", description}, {"schema", schema}};
}

Json query_parameter(const char* name, const Json& schema, const char* description) {
  return {{"name", name}, {"in", "query"}, {"required", false}, {"description", description}, {"schema", schema}};
}

// What names and numbers look like: whoever sends others gets 400 or 404.
Json model_parameter() {
  return path_parameter("model", {{"type", "string"}, {"pattern", "^[A-Za-z0-9_-][A-Za-z0-9._-]{0,127}$"}},
                        "name of a model, ensemble or split");
}

Json version_parameter() {
  return path_parameter("version", {{"type", "string"}, {"pattern", "^[1-9][0-9]{0,17}$"}},
                        "one of those that are served of it");
}

Json operation(const char* tag, const char* summary, const Json& all_responses,
               const std::vector<Json>& parameters = {}, const Json& body = nullptr) {
  Json json = {{"tags", {tag}}, {"summary", summary}, {"parameters", parameters}, {"responses", all_responses}};
  if (!body.is_null()) json["requestBody"] = body;
  return json;
}

Json schemas() {
  const Json object = {{"type", "object"}};
  const Json text = {{"type", "string"}};
  const Json sizes = {{"type", "array"}, {"items", {{"type", "integer"}}}};
  const Json numbers = {{"type", "array"}, {"items", Json::object()}};
  const Json tensor = {
      {"type", "object"},
      {"required", {"name", "shape", "datatype"}},
      {"properties",
       {{"name", text}, {"shape", sizes}, {"datatype", text}, {"parameters", object}, {"data", numbers}}}};
  Json input = tensor;
  input["properties"]["datatype"] = {{"type", "string"}, {"enum", {"FP32", "UINT8"}}};
  const Json wanted = {
      {"type", "object"}, {"required", {"name"}}, {"properties", {{"name", text}, {"parameters", object}}}};
  return {
      {"Error", {{"type", "object"}, {"required", {"error"}}, {"properties", {{"error", text}}}}},
      {"InferRequest",
       {{"type", "object"},
        {"required", {"inputs"}},
        {"properties",
         {{"id", text},
          {"parameters", object},
          {"inputs", {{"type", "array"}, {"items", input}}},
          {"outputs", {{"type", "array"}, {"items", wanted}}}}}}},
      {"InferResponse",
       {{"type", "object"},
        {"required", {"model_name", "outputs"}},
        {"properties",
         {{"model_name", text},
          {"model_version", text},
          {"id", text},
          {"parameters", object},
          {"outputs", {{"type", "array"}, {"items", tensor}}}}}}},
      {"Job",
       {{"type", "object"},
        {"required", {"id", "status"}},
        {"properties", {{"id", text}, {"status", text}, {"response", object}}}}},
  };
}

void add_reads(Json& paths) {
  const Json object = {{"type", "object"}};
  const auto read = [&](const char* path, const char* tag, const char* summary, std::initializer_list<int> errors,
                        const Json& schema, const std::vector<Json>& parameters = {}) {
    paths[path]["get"] = operation(tag, summary, responses({{"200", answer("it", schema)}}, errors), parameters);
  };
  read("/v2", "server", "name, version and extensions", {}, object);
  read("/v2/health/live", "server", "whether the process answers", {}, object);
  read("/v2/health/ready", "server", "whether all models answer", {503}, object);
  read("/v2/models", "models", "names of what is served", {}, object);
  read("/v2/models/stats", "models", "statistics of everything", {}, object);
  using Parameters = std::vector<Json>;
  const std::pair<std::string, Parameters> forms[] = {
      {"", {model_parameter()}}, {"/versions/{version}", {model_parameter(), version_parameter()}}};
  for (const auto& [which, parameters] : forms) {
    const auto of_model = [&](const std::string& path, const char* tag, const char* summary) {
      read(path.c_str(), tag, summary, {400, 404, 503}, object, parameters);
    };
    of_model("/v2/models/{model}" + which, "models", "inputs and outputs");
    of_model("/v2/models/{model}" + which + "/ready", "models", "whether it answers");
    of_model("/v2/models/{model}" + which + "/config", "models", "configuration as Triton has it");
    of_model("/v2/models/{model}" + which + "/stats", "models", "statistics as Triton has them");
    of_model("/v1/models/{model}" + which, "tensorflow", "status");
    of_model("/v1/models/{model}" + which + "/metadata", "tensorflow", "signature");
  }
  read("/status", "page", "what the page shows", {}, object);
  read("/run.json", "page", "the workflow's run that this server belongs to; 404 if it belongs to none", {404}, object);
  read("/samples", "page", "pictures to try", {503}, object);
  const Json id = path_parameter("id", {{"type", "string"}, {"pattern", "^[0-9a-f]{32}$"}}, "of the job");
  const Json wait =
      query_parameter("wait", {{"type", "integer"}, {"minimum", 0}, {"maximum", 3600}}, "seconds to wait for its end");
  read("/jobs/{id}", "jobs", "how a job stands", {400, 404}, reference("Job"), {id, wait});
  read("/jobs/{id}/result", "jobs", "what it came to, as if it had been asked for directly",
       {400, 404, 409, 410, 500, 503, 504}, object, {id, wait});
  paths["/jobs/{id}"]["delete"] =
      operation("jobs", "cancels a job, or forgets one that is done",
                responses({{"200", answer("the job", reference("Job"))}}, {400, 404}), {id});
}

void add_writes(Json& paths, const Json& model) {
  const Json object = {{"type", "object"}};
  const Json infer_body = {{"required", true}, {"content", content(reference("InferRequest"))}};
  const Json inferred = responses({{"200", answer("the outputs", reference("InferResponse"))},
                                   {"202", answer("with Prefer: respond-async: a job", reference("Job"))}},
                                  {400, 404, 413, 422, 500, 503, 504});
  const Json version = version_parameter();
  paths["/v2/models/{model}/infer"]["post"] = operation("inference", "inference", inferred, {model}, infer_body);
  paths["/v2/models/{model}/versions/{version}/infer"]["post"] =
      operation("inference", "inference by one version", inferred, {model, version}, infer_body);
  const Json binary = {{"type", "string"}, {"format", "binary"}};
  const Json form = {{"type", "object"}, {"required", {"image"}}, {"properties", {{"image", binary}}}};
  Json picture = content(form, "multipart/form-data");
  picture["image/png"] = {{"schema", binary}};
  picture["image/jpeg"] = {{"schema", binary}};
  paths["/predict"]["post"] =
      operation("inference", "picture in, label out",
                responses({{"200", answer("what it shows", object)}}, {400, 404, 413, 500, 503, 504}),
                {query_parameter("model", {{"type", "string"}}, "whom to ask"),
                 query_parameter("top", {{"type", "integer"}, {"minimum", 1}}, "classes to tell of")},
                {{"required", true}, {"content", picture}});
  const Json instances = {{"type", "object"},
                          {"properties", {{"instances", {{"type", "array"}, {"items", Json::object()}}}}}};
  const Json predicted = responses({{"200", answer("the predictions", object)}}, {400, 404, 413, 500, 503, 504});
  const Json predict_body = {{"required", true}, {"content", content(instances)}};
  paths["/v1/models/{model}:predict"]["post"] = operation("tensorflow", "inference", predicted, {model}, predict_body);
  paths["/v1/models/{model}/versions/{version}:predict"]["post"] =
      operation("tensorflow", "inference by one version", predicted, {model, version}, predict_body);
  const Json job = {{"type", "object"},
                    {"required", {"model", "request"}},
                    {"properties", {{"model", {{"type", "string"}}}, {"request", reference("InferRequest")}}}};
  paths["/jobs"]["post"] = operation(
      "jobs", "begins a job", responses({{"202", answer("the job", reference("Job"))}}, {400, 404, 413, 422, 503}), {},
      {{"required", true}, {"content", content(job)}});
  const Json maybe = {{"required", false}, {"content", content(object)}};
  const Json list = {{"type", "array"}, {"items", object}};
  paths["/v2/repository/index"]["post"] =
      operation("repository", "models and versions", responses({{"200", answer("rows", list)}}, {400, 413}), {}, maybe);
  for (const char* verb : {"load", "unload"})
    paths[std::string("/v2/repository/models/{model}/") + verb]["post"] = operation(
        "repository", verb, responses({{"200", {{"description", "done"}}}}, {400, 404, 413, 500, 503}), {model}, maybe);
}

}  // namespace

std::string openapi_json(const Repository& repository) {
  Json names = Json::array();
  for (const auto& servable : repository.all()) names.push_back(servable->description().name);
  Json model = model_parameter();
  if (!names.empty()) model["schema"]["example"] = names[0];
  Json paths = Json::object();
  add_reads(paths);
  add_writes(paths, model);
  const Json json = {{"openapi", "3.0.3"},
                     {"info",
                      {{"title", "Lockring"},
                       {"version", version()},
                       {"description",
                        "Open Inference Protocol v2 with Triton's extensions, TensorFlow Serving's predict, "
                        "and pictures. Served here: " +
                            names.dump()}}},
                     {"paths", paths},
                     {"components", {{"schemas", schemas()}}}};
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace lockring::app::serve
