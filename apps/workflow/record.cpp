#include "apps/workflow/record.h"

#include "apps/workflow/content.h"
#include "core/error.h"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace lockring::app::workflow {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kKinds[] = {"file", "dir", "value"};

std::string_view name_of(OutputKind kind) { return kKinds[static_cast<std::size_t>(kind)]; }

OutputKind kind_from(const std::string& text) {
  const auto* found = std::ranges::find(kKinds, text);
  check(found != std::end(kKinds), ErrorCode::data, "'{}' is no kind of output", text);
  return static_cast<OutputKind>(found - kKinds);
}

std::string change_of(const OutputSpec& spec, const OutputRecord& record) {
  if (record.kind != spec.kind) return fmt::format("its output {} is now a {}", spec.name, name_of(spec.kind));
  if (spec.kind == OutputKind::value) return "";
  if (!spec.path.empty() && record.location != spec.path)
    return fmt::format("its output {} is now to be at {}, not {}", spec.name, spec.path, record.location);
  std::error_code ignored;
  if (!fs::exists(record.location, ignored))
    return fmt::format("its output {} is gone: {}", spec.name, record.location);
  try {
    if (content_of(record.location).digest == record.digest) return "";
  } catch (const Error& error) {
    return fmt::format("its output {} cannot be checked: {}", spec.name, error.what());
  }
  return fmt::format("its output {} has changed since: {}", spec.name, record.location);
}

}  // namespace

std::string OutputRecord::text() const { return kind == OutputKind::value ? value : fs::absolute(location).string(); }

std::string outputs_json(const std::vector<OutputRecord>& outputs) {
  nlohmann::json json = nlohmann::json::array();
  for (const OutputRecord& output : outputs) {
    nlohmann::json one = {{"name", output.name}, {"kind", name_of(output.kind)}, {"digest", output.digest}};
    if (output.kind == OutputKind::value)
      one["value"] = output.value;
    else
      one.update({{"location", output.location}, {"identity", output.identity}, {"bytes", output.bytes}});
    json.push_back(std::move(one));
  }
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::vector<OutputRecord> parse_outputs(const std::string& json) {
  try {
    std::vector<OutputRecord> outputs;
    for (const nlohmann::json& one : nlohmann::json::parse(json)) {
      OutputRecord output;
      output.name = one.at("name").get<std::string>();
      output.kind = kind_from(one.at("kind").get<std::string>());
      output.digest = one.at("digest").get<std::string>();
      output.location = one.value("location", "");
      output.value = one.value("value", "");
      output.identity = one.value("identity", output.digest);
      output.bytes = one.value("bytes", std::int64_t{0});
      outputs.push_back(std::move(output));
    }
    return outputs;
  } catch (const nlohmann::json::exception& error) {
    fail(ErrorCode::data, "no outputs of a step: {}", error.what());
  }
}

std::string find_change(const StepSpec& step, const std::vector<OutputRecord>& outputs) {
  for (const OutputSpec& spec : step.outputs) {
    const auto record = std::ranges::find(outputs, spec.name, &OutputRecord::name);
    if (record == outputs.end()) return fmt::format("it had no output {}", spec.name);
    if (std::string change = change_of(spec, *record); !change.empty()) return change;
  }
  return "";
}

}  // namespace lockring::app::workflow
