// The JSON header of a safetensors file.
#pragma once

#include "core/dtype.h"
#include "core/shape.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lockring::nn {

struct TensorEntry {
  std::string name;
  DType dtype = DType::f32;
  Shape shape;
  std::int64_t begin = 0;  // bytes from where the elements start
  std::int64_t end = 0;
};

struct SafetensorsHeader {
  std::map<std::string, std::string> metadata;
  std::vector<TensorEntry> tensors;  // in the order of their elements
};

// The type of this name ("F32"), if it is one of ours.
std::optional<DType> dtype_named(std::string_view name);

// The longest header that the format allows, in bytes.
constexpr std::int64_t kMaxHeaderBytes = 100'000'000;

// Throws Error{data} unless `text` is a header whose tensors cover `data_bytes` bytes without holes or overlap.
SafetensorsHeader parse_safetensors_header(std::string_view text, std::int64_t data_bytes);
// Padded with spaces to a multiple of 8 bytes.
std::string format_safetensors_header(const SafetensorsHeader& header);

}  // namespace lockring::nn
