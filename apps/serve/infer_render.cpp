// Answers as the protocol has them: JSON, with tensors as text or behind it.
#include "apps/serve/infer.h"
#include "apps/serve/json_text.h"
#include "core/error.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

namespace lockring::app::serve {
namespace {

// One output with its values.
struct Filled {
  const WantedOutput& wanted;
  Tensor values;
  std::string text = "";   // of a classification: the elements as JSON strings
  std::string bytes = "";  // the same as BYTES in binary
};

bool all_finite(const Tensor& tensor) {
  return std::ranges::all_of(tensor.values(), [](float value) { return std::isfinite(value); });
}

void append_le32(std::string& out, std::uint32_t number) {
  for (int shift = 0; shift < 32; shift += 8) out += static_cast<char>(number >> shift & 0xff);
}

// "0.93:9:Ankle boot", the likeliest first.
void classify(Filled& output, const Description& description) {
  const std::int64_t classes = output.values.size(1);
  const std::int64_t count = std::min(output.wanted.classification, classes);
  std::vector<std::int64_t> order(static_cast<std::size_t>(classes));
  for (std::int64_t row = 0; row < output.values.size(0); ++row) {
    const float* values = output.values.data() + row * classes;
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return values[a] > values[b]; });
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t index = order[static_cast<std::size_t>(i)];
      const std::string text =
          fmt::format("{}:{}:{}", values[index], index, description.classes[static_cast<std::size_t>(index)]);
      if (!output.text.empty()) output.text += ',';
      append_text(output.text, text);
      append_le32(output.bytes, static_cast<std::uint32_t>(text.size()));
      output.bytes += text;
    }
  }
}

std::vector<Filled> fill_outputs(const InferRequest& request, const Answer& answer, const Description& description) {
  std::vector<Filled> outputs;
  for (const WantedOutput& wanted : request.outputs) {
    Filled output{.wanted = wanted, .values = answer.probabilities};
    if (wanted.info.name == "agreement") output.values = answer.agreement;
    if (wanted.info.member >= 0) {
      const MemberAnswer& member = answer.members.at(static_cast<std::size_t>(wanted.info.member));
      output.values = member.probabilities;
      check(output.values.defined() || !wanted.named, ErrorCode::other,
            "output '{}' is not there: '{}' did not answer: {}", wanted.info.name, member.model, member.message);
    }
    if (!output.values.defined()) continue;
    check(wanted.binary || all_finite(output.values), ErrorCode::other,
          "output '{}' is not finite, which JSON cannot say", wanted.info.name);
    if (wanted.classification > 0) classify(output, description);
    outputs.push_back(std::move(output));
  }
  return outputs;
}

std::size_t binary_size(const Filled& output) {
  return output.wanted.classification > 0 ? output.bytes.size() : static_cast<std::size_t>(output.values.bytes());
}

void append_output(std::string& json, const Filled& output) {
  const bool classes = output.wanted.classification > 0;
  json += "{\"name\":";
  append_text(json, output.wanted.info.name);
  json += classes ? ",\"datatype\":\"BYTES\",\"shape\":[" : ",\"datatype\":\"FP32\",\"shape\":[";
  append_number(json, output.values.size(0));
  for (const std::int64_t size : output.wanted.info.dimensions) {
    json += ',';
    append_number(json, classes ? std::min(size, output.wanted.classification) : size);
  }
  if (output.wanted.binary) {
    json += "],\"parameters\":{\"binary_data_size\":";
    append_number(json, binary_size(output));
    json += "}}";
    return;
  }
  json += "],\"data\":[";
  if (classes) {
    json += output.text;
  } else {
    append_numbers(json, output.values.values());
  }
  json += "]}";
}

// What the protocol has no field for: who answered, who did not, and whether a picture was inverted.
void append_parameters(std::string& json, const InferRequest& request, const Answer& answer,
                       const Description& description) {
  std::string parameters;
  const auto add = [&](std::string_view name, std::string_view value) {
    if (!parameters.empty()) parameters += ',';
    append_text(parameters, name);
    parameters += ':';
    parameters += value;
  };
  if (!answer.model.empty() && answer.model != description.name) {
    std::string arm;
    append_text(arm, answer.model);
    add("arm", arm);
  }
  if (request.inverted) add("inverted", *request.inverted ? "true" : "false");
  for (const MemberAnswer& member : answer.members) {
    std::string outcome;
    append_text(outcome,
                member.outcome == Outcome::ok ? "ok" : fmt::format("{}: {}", name_of(member.outcome), member.message));
    add("member." + member.model, outcome);
  }
  if (!parameters.empty()) json += "\"parameters\":{" + parameters + "},";
}

}  // namespace

http::Response render_infer(const InferRequest& request, const Answer& answer, const Description& description) {
  if (answer.outcome != Outcome::ok) return error_of(answer);
  std::vector<Filled> outputs;
  try {
    outputs = fill_outputs(request, answer, description);
  } catch (const Error& error) {
    return http::error_response(500, error.what());
  }
  std::string json;
  json.reserve(512);
  json += "{\"model_name\":";
  append_text(json, description.name);
  json += ",\"model_version\":";
  append_text(json, answer.version.empty() ? description.version : answer.version);
  if (!request.id.empty()) {
    json += ",\"id\":";
    append_text(json, request.id);
  }
  json += ',';
  append_parameters(json, request, answer, description);
  json += "\"outputs\":[";
  bool binary = false;
  for (const Filled& output : outputs) {
    if (&output != &outputs.front()) json += ',';
    append_output(json, output);
    binary = binary || output.wanted.binary;
  }
  json += "]}";
  if (!binary) return http::json_response(200, std::move(json));
  http::Response response{.status = 200, .content_type = "application/octet-stream", .headers = {}, .body = {}};
  response.headers.push_back({"Inference-Header-Content-Length", std::to_string(json.size())});
  response.body.emplace_back(std::move(json));
  for (Filled& output : outputs) {
    if (!output.wanted.binary) continue;
    if (output.wanted.classification > 0) {
      response.body.emplace_back(std::move(output.bytes));
    } else {
      const auto owner = std::make_shared<Tensor>(output.values);
      response.body.emplace_back(owner, std::as_bytes(std::as_const(*owner).values()));
    }
  }
  return response;
}

http::Response error_of(const Answer& answer) {
  unsigned status = 500;
  if (answer.outcome == Outcome::full || answer.outcome == Outcome::unavailable) status = 503;
  if (answer.outcome == Outcome::late) status = 504;
  if (answer.outcome == Outcome::cancelled) status = 499;  // nobody reads it; logs do
  http::Response response = http::error_response(status, answer.message);
  // In whole seconds, rounded up (RFC 9110, 10.2.3).
  if (status == 503) response.headers.push_back({"Retry-After", std::to_string(1 + answer.retry_after.count() / 1000)});
  return response;
}

}  // namespace lockring::app::serve
