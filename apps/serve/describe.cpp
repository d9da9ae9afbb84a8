#include "apps/serve/describe.h"

#include "apps/program.h"
#include "apps/serve/infer.h"
#include "core/error.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>

namespace lockring::app::serve {
namespace {

using Json = nlohmann::ordered_json;

std::string text(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

std::uint64_t value_of(const Counter& counter) { return counter.load(std::memory_order_relaxed); }

Json tensor_json(const std::string& name, const std::vector<std::int64_t>& dimensions) {
  Json shape = {-1};
  for (const std::int64_t size : dimensions) shape.push_back(size);
  return {{"name", name}, {"datatype", "FP32"}, {"shape", shape}};
}

std::vector<std::int64_t> image_of(const Description& description) {
  return {description.image.begin(), description.image.end()};
}

// Counts and nanoseconds as Triton's statistics have them.
Json duration(std::uint64_t count, std::uint64_t nanoseconds) { return {{"count", count}, {"ns", nanoseconds}}; }

std::uint64_t failures(const Counters& counters) {
  return value_of(counters.refused) + value_of(counters.late) + value_of(counters.cancelled) +
         value_of(counters.failed);
}

Json stats_of(const Servable& servable) {
  const Counters& counters = servable.counters();
  const std::uint64_t success = value_of(counters.success);
  Json batches = Json::array();
  for (std::size_t i = 0; i <= counters.batch_rows.bounds().size(); ++i) {
    const std::uint64_t count = counters.batch_rows.count(i);
    if (count == 0 || i == counters.batch_rows.bounds().size()) continue;
    batches.push_back({{"batch_size", static_cast<std::int64_t>(counters.batch_rows.bounds()[i])},
                       {"compute_input", duration(count, 0)},
                       {"compute_infer", duration(count, 0)},
                       {"compute_output", duration(count, 0)}});
  }
  return {{"name", servable.description().name},
          {"version", servable.description().version},
          {"last_inference", value_of(counters.last_unix_ms)},
          {"inference_count", value_of(counters.rows)},
          {"execution_count", value_of(counters.batches)},
          {"inference_stats",
           {{"success", duration(success, value_of(counters.success_ns))},
            {"fail", duration(failures(counters), value_of(counters.fail_ns))},
            {"queue", duration(success, value_of(counters.queue_ns))},
            {"compute_input", duration(success, 0)},
            {"compute_infer", duration(success, value_of(counters.compute_ns))},
            {"compute_output", duration(success, 0)},
            {"cache_hit", duration(0, 0)},
            {"cache_miss", duration(0, 0)}}},
          {"batch_stats", batches}};
}

Json parsed(std::string_view body) {
  Json json = body.empty() ? Json::object() : Json::parse(body, nullptr, false);
  check(json.is_object(), "the body is not a JSON object");
  return json;
}

}  // namespace

std::string server_json() {
  return text({{"name", "lockring"},
               {"version", version()},
               {"extensions",
                {"binary_tensor_data", "classification", "model_configuration", "model_repository", "statistics"}}});
}

std::string models_json(const Repository& repository) {
  Json names = Json::array();
  for (const auto& servable : repository.all()) names.push_back(servable->description().name);
  return text({{"models", names}});
}

std::string metadata_json(const Description& description, const std::vector<std::shared_ptr<Servable>>& versions) {
  Json numbers = Json::array();
  for (const auto& version : versions) numbers.push_back(version->description().version);
  Json outputs = Json::array();
  for (const OutputInfo& output : outputs_of(description))
    outputs.push_back(tensor_json(output.name, output.dimensions));
  Json json = {{"name", description.name},
               {"versions", numbers},
               {"platform", description.platform},
               {"inputs", {tensor_json(description.input, image_of(description))}},
               {"outputs", outputs}};
  Json parameters = {{"classes", description.classes}};
  if (!description.digest.empty()) parameters["sha256"] = description.digest;
  if (!description.architecture.empty()) parameters["architecture"] = description.architecture;
  if (!description.transform.empty()) parameters["transform"] = description.transform;
  json["parameters"] = parameters;
  return text(json);
}

std::string config_json(const Description& description) {
  Json outputs = Json::array();
  for (const OutputInfo& output : outputs_of(description)) {
    // Triton's configuration has no tensors of rank 0 behind the batch.
    const std::vector<std::int64_t> dims = output.dimensions.empty() ? std::vector<std::int64_t>{1} : output.dimensions;
    outputs.push_back({{"name", output.name}, {"data_type", "TYPE_FP32"}, {"dims", dims}});
    if (output.dimensions.empty()) outputs.back()["reshape"] = {{"shape", Json::array()}};
  }
  Json json = {{"name", description.name},
               {"platform", description.platform},
               {"backend", description.platform},
               {"max_batch_size", description.max_batch},
               {"input", {{{"name", description.input}, {"data_type", "TYPE_FP32"}, {"dims", image_of(description)}}}},
               {"output", outputs}};
  if (description.platform == "lockring") json["dynamic_batching"] = Json::object();
  if (description.platform == "ensemble") {
    Json steps = Json::array();
    for (const auto& [name, weight] : description.members)
      steps.push_back({{"model_name", name}, {"model_version", -1}});
    json["ensemble_scheduling"] = {{"step", steps}};
  }
  return text(json);
}

std::string stats_json(const std::vector<std::shared_ptr<Servable>>& servables) {
  Json stats = Json::array();
  for (const auto& servable : servables) stats.push_back(stats_of(*servable));
  return text({{"model_stats", stats}});
}

std::string index_json(const std::vector<IndexRow>& rows, std::string_view request) {
  const Json json = parsed(request);
  const Json ready = json.value("ready", Json(false));
  check(ready.is_boolean(), "ready is neither true nor false");
  Json index = Json::array();
  for (const IndexRow& row : rows) {
    if (ready == true && row.state != "READY") continue;
    index.push_back({{"name", row.name}, {"version", row.version}, {"state", row.state}, {"reason", row.reason}});
  }
  return text(index);
}

void check_parameters_json(std::string_view body) {
  const Json json = parsed(body);
  check(!json.contains("parameters") || json["parameters"].is_object(), "parameters is not an object");
  if (!json.contains("parameters")) return;
  for (const auto& [key, value] : json["parameters"].items())
    check(key == "unload_dependents", "parameters.{}: models are loaded as they lie in the repository", key);
}

std::string tensorflow_status_json(const std::vector<IndexRow>& rows, std::string_view model,
                                   std::string_view version) {
  Json status = Json::array();
  for (const IndexRow& row : rows) {
    if (row.name != model || row.version.empty() || (!version.empty() && row.version != version)) continue;
    const bool served = row.state == "READY";
    status.push_back({{"version", row.version},
                      {"state", served ? "AVAILABLE" : "END"},
                      {"status", {{"error_code", served ? "OK" : "UNKNOWN"}, {"error_message", row.reason}}}});
  }
  return text({{"model_version_status", status}});
}

std::string tensorflow_metadata_json(const Description& description) {
  const auto tensor = [](const std::string& name, const std::vector<std::int64_t>& dimensions) {
    Json dims = {{{"size", "-1"}, {"name", ""}}};
    for (const std::int64_t size : dimensions) dims.push_back({{"size", std::to_string(size)}, {"name", ""}});
    return Json{{"dtype", "DT_FLOAT"}, {"tensor_shape", {{"dim", dims}, {"unknown_rank", false}}}, {"name", name}};
  };
  const Json signature = {{"inputs", {{description.input, tensor(description.input, image_of(description))}}},
                          {"outputs", {{"probabilities", tensor("probabilities", {std::ssize(description.classes)})}}},
                          {"method_name", "tensorflow/serving/predict"}};
  return text({{"model_spec", {{"name", description.name}, {"signature_name", ""}, {"version", description.version}}},
               {"metadata", {{"signature_def", {{"signature_def", {{"serving_default", signature}}}}}}}});
}

std::string job_json(const JobView& job) {
  Json json = {{"id", job.id},
               {"status", name_of(job.state)},
               {"age_seconds", std::round(job.age_seconds * 1000) / 1000},
               {"location", "/jobs/" + job.id},
               {"result", "/jobs/" + job.id + "/result"}};
  if (job.response != nullptr) {
    json["response_status"] = job.response->status;
    const Json body = Json::parse(job.response->body, nullptr, false);
    if (!body.is_discarded()) json["response"] = body;
  }
  return text(json);
}

}  // namespace lockring::app::serve
