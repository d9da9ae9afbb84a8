#include "apps/serve/infer.h"

#include "apps/serve/image_input.h"
#include "apps/serve/infer_json.h"
#include "core/error.h"
#include "core/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

namespace lockring::app::serve {
namespace {

Shape batch_shape(std::int64_t rows, const Description& description) {
  const Shape& image = description.image;
  return {rows, image[0], image[1], image[2]};
}

std::string expected_shape(const Description& description) {
  const Shape& image = description.image;
  return fmt::format("[n, {}, {}, {}]", image[0], image[1], image[2]);
}

// Rows of a shape that is the model's but for the first size.
std::int64_t rows_of(const JsonInput& input, const Description& description) {
  const std::vector<std::int64_t>& shape = *input.shape;
  const bool fits = shape.size() == 4 && std::equal(shape.begin() + 1, shape.end(), description.image.begin());
  check(fits && shape[0] > 0, "input '{}' has the shape [{}]; expected {} with n of at least 1", input.name,
        fmt::join(shape, ", "), expected_shape(description));
  constexpr std::int64_t kMostRows = std::int64_t{1} << 40;
  check(shape[0] < kMostRows, "input '{}' has {} images", input.name, shape[0]);
  return shape[0];
}

Tensor from_numbers(const JsonInput& input, std::int64_t rows, const Description& description) {
  const JsonNumbers& numbers = *input.data;
  const std::int64_t expected = rows * description.image.elements();
  check(std::ssize(numbers.values) == expected, "input '{}' has {} numbers; its shape [{}] has {}", input.name,
        numbers.values.size(), fmt::join(*input.shape, ", "), expected);
  Tensor images = Tensor::empty(batch_shape(rows, description), input.datatype == "UINT8" ? DType::u8 : DType::f32);
  if (input.datatype == "UINT8") {
    check(numbers.whole_bytes, "input '{}' is UINT8 and has numbers other than 0, 1, ..., 255", input.name);
    std::ranges::transform(numbers.values, images.data<std::uint8_t>(),
                           [](float value) { return static_cast<std::uint8_t>(value); });
  } else {
    std::ranges::copy(numbers.values, images.data());
    to_bytes_unit(images.values(), input.name);
  }
  return images;
}

Tensor from_binary(std::span<const std::byte> bytes, const std::string& name, std::int64_t rows, DType dtype,
                   const Description& description) {
  const std::int64_t per_image = description.image.elements() * size_of(dtype);
  check(std::ssize(bytes) / per_image == rows && std::ssize(bytes) % per_image == 0,
        "input '{}' has {} bytes; {} images of its datatype and shape have {}", name, bytes.size(), rows,
        rows * per_image);
  Tensor images = Tensor::empty(batch_shape(rows, description), dtype);
  std::memcpy(images.raw(), bytes.data(), bytes.size());
  if (dtype == DType::f32) to_bytes_unit(images.values(), name);
  return images;
}

void check_form(const JsonInput& input, const Description& description) {
  check(input.name == description.input, "there is no input '{}'; '{}' has one, '{}'", input.name, description.name,
        description.input);
  check(input.datatype == "FP32" || input.datatype == "UINT8",
        "input '{}' has the datatype {}; expected FP32 from 0 to 1, or UINT8", input.name, input.datatype);
  check(!input.shared_memory, "input '{}': shared memory is not offered here", input.name);
  check(input.data.has_value() != input.binary_size.has_value(),
        "input '{}' needs either data or parameters.binary_data_size", input.name);
}

WantedOutput wanted(const JsonOutput& output, bool binary, const Description& description) {
  const std::vector<OutputInfo> known = outputs_of(description);
  const auto found = std::ranges::find(known, output.name, &OutputInfo::name);
  std::vector<std::string> names;
  for (const OutputInfo& info : known) names.push_back(info.name);
  check(found != known.end(), "there is no output '{}'; '{}' has {}", output.name, description.name, joined(names));
  check(output.classification == 0 || found->dimensions.size() == 1,
        "output '{}' is not made of classes; no classification can be had of it", output.name);
  return {
      .info = *found, .binary = output.binary.value_or(binary), .classification = output.classification, .named = true};
}

std::vector<WantedOutput> wanted_outputs(const JsonRequest& json, const Description& description) {
  const bool binary = json.binary_output.value_or(false);
  if (!json.outputs || json.outputs->empty()) return default_outputs(description, binary);
  std::vector<WantedOutput> outputs;
  for (const JsonOutput& output : *json.outputs) {
    check(std::ranges::none_of(outputs, [&](const WantedOutput& one) { return one.info.name == output.name; }),
          "output '{}' is asked for twice", output.name);
    outputs.push_back(wanted(output, binary, description));
  }
  return outputs;
}

}  // namespace

std::vector<OutputInfo> outputs_of(const Description& description) {
  const std::int64_t classes = std::ssize(description.classes);
  std::vector<OutputInfo> outputs = {{"probabilities", {classes}}};
  if (description.platform != "ensemble") return outputs;
  outputs.push_back({"agreement", {}});
  for (std::size_t i = 0; i < description.members.size(); ++i)
    outputs.push_back({description.members[i].first + ".probabilities", {classes}, static_cast<int>(i)});
  return outputs;
}

std::vector<WantedOutput> default_outputs(const Description& description, bool binary) {
  std::vector<WantedOutput> outputs;
  for (OutputInfo& info : outputs_of(description)) outputs.push_back({.info = std::move(info), .binary = binary});
  return outputs;
}

void to_bytes_unit(std::span<float> floats, std::string_view name) {
  constexpr float kNearlyWhole = 1e-4F;
  bool finite = true;
  for (float& value : floats) {
    const float scaled = value * 255.0F;
    const float whole = std::nearbyint(scaled);
    finite = finite && std::abs(scaled) <= std::numeric_limits<float>::max();
    value = std::abs(scaled - whole) < kNearlyWhole ? whole : scaled;
  }
  check(finite, "input '{}' has numbers that are not finite, or far too large; expected 0 to 1", name);
}

InferRequest parse_infer(const http::Body& body, std::size_t json_bytes, const Description& description) {
  check(json_bytes <= body.size(), "Inference-Header-Content-Length is {}, but the body has {} bytes", json_bytes,
        body.size());
  JsonRequest json = parse_infer_json(body.text().substr(0, json_bytes));
  InferRequest request{.id = std::move(json.id), .images = {}, .outputs = {}, .timeout = {}, .inverted = {}};
  if (json.timeout && *json.timeout > 0) request.timeout = std::chrono::microseconds(*json.timeout);
  std::span<const std::byte> rest = body.bytes().subspan(json_bytes);
  check(json.inputs.size() == 1, "the request has {} inputs; '{}' has one, '{}'", json.inputs.size(), description.name,
        description.input);
  const JsonInput& input = json.inputs.front();
  check_form(input, description);
  const std::int64_t rows = rows_of(input, description);
  if (input.binary_size) {
    check(*input.binary_size <= rest.size(), "input '{}' has {} binary bytes, but only {} are there", input.name,
          *input.binary_size, rest.size());
    request.images = from_binary(rest.first(*input.binary_size), input.name, rows,
                                 input.datatype == "UINT8" ? DType::u8 : DType::f32, description);
    rest = rest.subspan(*input.binary_size);
  } else {
    request.images = from_numbers(input, rows, description);
  }
  check(rest.empty(), "unexpected additional input data: {} bytes behind the last input", rest.size());
  request.outputs = wanted_outputs(json, description);
  return request;
}

InferRequest parse_raw(const http::Body& body, const Description& description) {
  InferRequest request{
      .id = "", .images = {}, .outputs = default_outputs(description, true), .timeout = {}, .inverted = {}};
  if (is_picture(body.bytes())) {
    const PictureInput picture = read_picture(body.bytes(), description);
    request.images = picture.images;
    request.inverted = picture.inverted;
    return request;
  }
  const std::int64_t elements = description.image.elements();
  const auto bytes = static_cast<std::int64_t>(body.size());
  check(bytes == elements || (bytes > 0 && bytes % (4 * elements) == 0),
        "the body has {} bytes; expected a PNG or JPEG picture, {} bytes of one image in UINT8, or a multiple of {} in "
        "FP32",
        bytes, elements, 4 * elements);
  const bool as_bytes = bytes == elements;
  request.images = from_binary(body.bytes(), description.input, as_bytes ? 1 : bytes / (4 * elements),
                               as_bytes ? DType::u8 : DType::f32, description);
  return request;
}

}  // namespace lockring::app::serve
