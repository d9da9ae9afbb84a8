#include "nn/bundle_info.h"

#include "core/error.h"
#include "core/text.h"
#include "nn/safetensors_header.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string_view>

namespace lockring::nn {
namespace {

using Json = nlohmann::json;

constexpr const char* kFormat = "lockring-bundle";
constexpr int kFormatVersion = 1;
constexpr const char* kLayouts = "NHWC/OHWI";
constexpr std::string_view kMetricPrefix = "metric.";

std::string list(const auto& values) { return Json(values).dump(-1, ' ', false, Json::error_handler_t::replace); }

const std::string& text_at(const Metadata& metadata, const char* key) {
  const auto found = metadata.find(key);
  check(found != metadata.end(), ErrorCode::data, "damaged bundle: its metadata has no {}", key);
  return found->second;
}

[[noreturn]] void fail_at(std::string_view key, const char* expected) {
  fail(ErrorCode::data, "damaged bundle: its metadata's {} is not {}", key, expected);
}

// Reports print these.
const std::string& printable_at(const Metadata& metadata, const char* key) {
  const std::string& text = text_at(metadata, key);
  if (!is_printable(text)) fail_at(key, "printable text");
  return text;
}

// A number that is all of `text`.
template <class T>
T number_from(const std::string& text, std::string_view key) {
  T value{};
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || stop != end) fail_at(key, "a number");
  return value;
}

// A JSON list whose elements all are what `is` says.
Json list_at(const Metadata& metadata, const char* key, bool (Json::*is)() const noexcept, const char* expected) {
  const Json json = Json::parse(text_at(metadata, key), nullptr, false);
  if (!json.is_array() || !std::ranges::all_of(json, [&](const Json& value) { return (value.*is)(); }))
    fail_at(key, expected);
  return json;
}

Shape shape_at(const Metadata& metadata, const char* key) {
  constexpr const char* kExpected = "a list of sizes";
  const Json json = list_at(metadata, key, &Json::is_number_unsigned, kExpected);
  // Far more than fits into memory, few enough to count.
  const auto fits = [](const Json& size) { return size.get<std::uint64_t>() - 1 < 1 << 20; };
  if (json.empty() || json.size() > 3 || !std::ranges::all_of(json, fits)) fail_at(key, kExpected);
  return Shape(json.get<std::vector<std::int64_t>>());
}

std::vector<float> numbers_at(const Metadata& metadata, const char* key) {
  constexpr const char* kExpected = "a list of numbers";
  const Json json = list_at(metadata, key, &Json::is_number, kExpected);
  const auto fits = [](const Json& value) { return std::abs(value.get<double>()) < 1e30; };
  if (!std::ranges::all_of(json, fits)) fail_at(key, kExpected);
  return json.get<std::vector<float>>();
}

DType dtype_at(const Metadata& metadata, const char* key) {
  const auto dtype = dtype_named(text_at(metadata, key));
  if (!dtype.has_value()) fail_at(key, "a type of elements");
  return *dtype;
}

void check_format(const Metadata& metadata) {
  const auto format = metadata.find("format");
  check(format != metadata.end() && format->second == kFormat, ErrorCode::data, "not a Lockring bundle");
  const auto version = number_from<int>(text_at(metadata, "format_version"), "format_version");
  check(version == kFormatVersion, ErrorCode::data, "expected a bundle of format version {}, found {}", kFormatVersion,
        version);
  if (text_at(metadata, "layouts") != kLayouts) fail_at("layouts", kLayouts);
}

}  // namespace

Metadata to_metadata(const BundleInfo& info) {
  Metadata metadata{
      {"format", kFormat},
      {"format_version", std::to_string(kFormatVersion)},
      {"program_version", info.program_version},
      {"architecture", info.architecture},
      {"layouts", kLayouts},
      {"input.name", info.input_name},
      {"input.dtype", std::string(name_of(info.input_dtype))},
      {"input.shape", list(std::vector(info.input_shape.begin(), info.input_shape.end()))},
      {"transform", info.transform},
      {"mean", list(info.mean)},
      {"deviation", list(info.deviation)},
      {"classes", list(info.classes)},
      {"data_digest", info.data_digest},
      {"seed", std::to_string(info.seed)},
  };
  for (const auto& [name, value] : info.metrics) metadata[std::string(kMetricPrefix) + name] = fmt::format("{}", value);
  return metadata;
}

BundleInfo info_from(const Metadata& metadata) {
  check_format(metadata);
  BundleInfo info;
  info.program_version = printable_at(metadata, "program_version");
  info.architecture = printable_at(metadata, "architecture");
  info.input_name = printable_at(metadata, "input.name");
  info.input_dtype = dtype_at(metadata, "input.dtype");
  info.input_shape = shape_at(metadata, "input.shape");
  info.transform = text_at(metadata, "transform");
  info.mean = numbers_at(metadata, "mean");
  info.deviation = numbers_at(metadata, "deviation");
  info.classes = list_at(metadata, "classes", &Json::is_string, "a list of names").get<std::vector<std::string>>();
  info.data_digest = printable_at(metadata, "data_digest");
  info.seed = number_from<std::uint64_t>(text_at(metadata, "seed"), "seed");
  for (const auto& [key, value] : metadata)
    if (key.starts_with(kMetricPrefix))
      info.metrics[key.substr(kMetricPrefix.size())] = number_from<double>(value, key);
  return info;
}

}  // namespace lockring::nn
