#include "nn/safetensors_header.h"

#include "core/error.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

namespace lockring::nn {
namespace {

using Json = nlohmann::json;

constexpr const char* kMetadata = "__metadata__";

template <class... Args>
void check_data(bool ok, fmt::format_string<Args...> format, Args&&... args) {
  check(ok, ErrorCode::data, format, std::forward<Args>(args)...);
}

// A name from the file as it may be printed: quoted, with escapes.
std::string quoted(const std::string& name) { return Json(name).dump(-1, ' ', true); }

// Refuses, while the text is being parsed, what JSON allows and the format does not.
class Rules {
 public:
  bool operator()(int depth, Json::parse_event_t event, const Json& parsed) {
    using Event = Json::parse_event_t;
    if (event == Event::object_start || event == Event::array_start)
      check_data(depth <= 2, "the header is nested too deeply");
    if (event == Event::object_start) keys_.emplace_back();
    if (event == Event::object_end) keys_.pop_back();
    if (event == Event::key) {
      const auto& key = parsed.get_ref<const std::string&>();
      check_data(keys_.back().insert(key).second, "the header has {} twice", quoted(key));
    }
    return true;
  }

 private:
  std::vector<std::set<std::string>> keys_;  // of the objects that are open
};

Json parse_json(std::string_view text) {
  check_data(text.starts_with('{'), "the header does not start with a brace");
  // Spaces only: the parser would stop at a zero byte as if the text ended there.
  const std::size_t last = text.find_last_not_of(' ');
  check_data(text[last] == '}' && text.find('\0') == std::string_view::npos, "the header does not end with a brace");
  Rules rules;
  try {
    return Json::parse(text,
                       [&](int depth, Json::parse_event_t event, Json& parsed) { return rules(depth, event, parsed); });
  } catch (const Json::parse_error& error) {
    fail(ErrorCode::data, "the header is not JSON: unexpected text at byte {}", error.byte);
  } catch (const Json::out_of_range&) {
    fail(ErrorCode::data, "the header has a number that is too large");
  }
}

std::map<std::string, std::string> metadata_from(const Json& json) {
  check_data(json.is_object(), "the header's metadata is not an object");
  std::map<std::string, std::string> metadata;
  for (const auto& [key, value] : json.items()) {
    check_data(value.is_string(), "the header's metadata {} is not text", quoted(key));
    metadata[key] = value;
  }
  return metadata;
}

// The counts of a JSON list, or nothing if it is anything else.
std::optional<std::vector<std::int64_t>> counts_from(const Json& json) {
  if (!json.is_array()) return std::nullopt;
  std::vector<std::int64_t> counts;
  for (const Json& value : json) {
    if (!value.is_number_unsigned() || value.get<std::uint64_t>() > INT64_MAX) return std::nullopt;
    counts.push_back(value);
  }
  return counts;
}

// The shape's bytes; throws if they cannot be counted.
std::int64_t bytes_of(const std::vector<std::int64_t>& sizes, DType dtype, const std::string& name) {
  std::int64_t bytes = size_of(dtype);
  for (const std::int64_t size : sizes)
    check_data(!__builtin_mul_overflow(bytes, size, &bytes), "tensor {} has too large a shape", quoted(name));
  return bytes;
}

TensorEntry entry_from(const std::string& name, const Json& json) {
  const auto has = [&](const char* key) { return json.contains(key); };
  check_data(json.is_object() && json.size() == 3 && has("dtype") && has("shape") && has("data_offsets"),
             "tensor {} does not have just dtype, shape and data_offsets", quoted(name));
  check_data(json["dtype"].is_string(), "the dtype of tensor {} is not text", quoted(name));
  const std::string dtype_name = json["dtype"];
  const auto dtype = dtype_named(dtype_name);
  check_data(dtype.has_value(), "tensor {} has dtype {}, which is not supported", quoted(name), quoted(dtype_name));

  const auto sizes = counts_from(json["shape"]);
  check_data(sizes.has_value(), "the shape of tensor {} is not a list of sizes", quoted(name));
  check_data(sizes->size() <= Shape::kMaxRank, "tensor {} has {} dimensions; at most {} are supported", quoted(name),
             sizes->size(), Shape::kMaxRank);
  const std::int64_t bytes = bytes_of(*sizes, *dtype, name);

  const auto offsets = counts_from(json["data_offsets"]);
  check_data(offsets.has_value() && offsets->size() == 2, "the data_offsets of tensor {} are not two positions",
             quoted(name));
  const auto [begin, end] = std::pair((*offsets)[0], (*offsets)[1]);
  check_data(begin <= end && end - begin == bytes, "tensor {} needs {} bytes, but its data_offsets are [{}, {}]",
             quoted(name), bytes, begin, end);
  return {name, *dtype, Shape(*sizes), begin, end};
}

void check_coverage(const std::vector<TensorEntry>& sorted, std::int64_t data_bytes) {
  std::int64_t covered = 0;
  for (const TensorEntry& entry : sorted) {
    check_data(entry.begin == covered, "tensor {} starts at byte {} of the data; expected {}", quoted(entry.name),
               entry.begin, covered);
    covered = entry.end;
  }
  check_data(covered == data_bytes, "the tensors take {} bytes, but {} bytes of data follow the header", covered,
             data_bytes);
}

}  // namespace

std::optional<DType> dtype_named(std::string_view name) {
  for (const DType dtype : {DType::f32, DType::u8, DType::i32, DType::i64, DType::bf16, DType::f16})
    if (name == name_of(dtype)) return dtype;
  return std::nullopt;
}

SafetensorsHeader parse_safetensors_header(std::string_view text, std::int64_t data_bytes) {
  const Json json = parse_json(text);
  SafetensorsHeader header;
  for (const auto& [name, value] : json.items()) {
    if (name == kMetadata) {
      header.metadata = metadata_from(value);
    } else {
      header.tensors.push_back(entry_from(name, value));
    }
  }
  const auto position = [](const TensorEntry& entry) { return std::tie(entry.begin, entry.end, entry.name); };
  std::ranges::sort(header.tensors, {}, position);
  check_coverage(header.tensors, data_bytes);
  return header;
}

std::string format_safetensors_header(const SafetensorsHeader& header) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  if (!header.metadata.empty()) json[kMetadata] = header.metadata;
  for (const TensorEntry& entry : header.tensors) {
    check(entry.name != kMetadata && !json.contains(entry.name), "two tensors are named '{}'", entry.name);
    json[entry.name] = {{"dtype", name_of(entry.dtype)},
                        {"shape", std::vector(entry.shape.begin(), entry.shape.end())},
                        {"data_offsets", {entry.begin, entry.end}}};
  }
  std::string text = json.dump(-1, ' ', false, Json::error_handler_t::replace);
  text.append((8 - text.size() % 8) % 8, ' ');
  return text;
}

}  // namespace lockring::nn
