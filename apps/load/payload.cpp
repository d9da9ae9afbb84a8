#include "apps/load/payload.h"

#include "core/error.h"
#include "core/text.h"

#include <nlohmann/json.hpp>

#include <bit>
#include <cstring>
#include <random>

namespace lockring::app {
namespace {

using Json = nlohmann::ordered_json;

// Together; the bodies of large batches are fewer.
constexpr std::size_t kMostBytes = std::size_t{64} << 20;
constexpr std::int64_t kMostElements = std::int64_t{1} << 28;

struct Input {
  std::string name;
  std::string datatype;
  std::vector<std::int64_t> shape;
  std::int64_t elements = 1;
};

Input read_input(const Json& json, const PayloadOptions& options) {
  Input input;
  input.name = json.at("name").get<std::string>();
  input.datatype = options.datatype.empty() ? json.at("datatype").get<std::string>() : options.datatype;
  for (const Json& size : json.at("shape")) {
    const auto given = size.get<std::int64_t>();
    input.shape.push_back(input.shape.empty() ? options.batch : std::max<std::int64_t>(given, 1));
    check(input.shape.back() <= kMostElements / input.elements, ErrorCode::data, "the input '{}' is too large",
          printable(input.name));
    input.elements *= input.shape.back();
  }
  return input;
}

// Random elements of one datatype, as JSON text and as bytes.
class Elements {
 public:
  Elements(const Input& input, std::mt19937_64& random) : input_(input), random_(random) {}

  std::string json() {
    std::string text = "[";
    for (std::int64_t i = 0; i < input_.elements; ++i) {
      if (i > 0) text += ',';
      text += is_float() ? fmt::format("{:.4f}", fraction()) : std::to_string(integer());
    }
    return text + "]";
  }

  std::string bytes() {
    std::string bytes;
    for (std::int64_t i = 0; i < input_.elements; ++i) append(bytes);
    return bytes;
  }

 private:
  bool is_float() const { return input_.datatype.starts_with("FP"); }
  double fraction() { return std::uniform_real_distribution<double>(0, 1)(random_); }
  int integer() {
    const int most = input_.datatype == "BOOL" ? 1 : input_.datatype == "INT8" ? 127 : 255;
    return std::uniform_int_distribution<int>(0, most)(random_);
  }

  template <class Number>
  static void put(std::string& bytes, Number number) {
    static_assert(std::endian::native == std::endian::little);
    bytes.append(reinterpret_cast<const char*>(&number), sizeof number);
  }

  void append(std::string& bytes) {
    const std::string& type = input_.datatype;
    if (type == "FP32") return put(bytes, static_cast<float>(fraction()));
    if (type == "FP64") return put(bytes, fraction());
    if (type == "BOOL" || type == "UINT8" || type == "INT8") return put(bytes, static_cast<std::uint8_t>(integer()));
    if (type == "INT16" || type == "UINT16") return put(bytes, static_cast<std::uint16_t>(integer()));
    if (type == "INT32" || type == "UINT32") return put(bytes, static_cast<std::uint32_t>(integer()));
    if (type == "INT64" || type == "UINT64") return put(bytes, static_cast<std::uint64_t>(integer()));
    fail(ErrorCode::usage, "numbers of type '{}' cannot be made; give a body by --body", printable(type));
  }

  const Input& input_;
  std::mt19937_64& random_;
};

void check_datatype(const Input& input) {
  for (const char* known :
       {"FP32", "FP64", "BOOL", "UINT8", "INT8", "INT16", "UINT16", "INT32", "UINT32", "INT64", "UINT64"}) {
    if (input.datatype == known) return;
  }
  fail(ErrorCode::usage, "the input '{}' is of type '{}', which numbers cannot be made of; give a body by --body",
       printable(input.name), printable(input.datatype));
}

// The body, and the length of its JSON part.
std::pair<std::string, std::size_t> make_body(const std::vector<Input>& inputs, bool binary, std::mt19937_64& random) {
  std::string text = R"({"inputs":[)";
  std::string tensors;
  for (const Input& input : inputs) {
    Elements elements(input, random);
    if (&input != &inputs.front()) text += ',';
    text += fmt::format(R"({{"name":{},"shape":{},"datatype":"{}",)", Json(input.name).dump(), Json(input.shape).dump(),
                        input.datatype);
    if (binary) {
      const std::string bytes = elements.bytes();
      text += fmt::format(R"("parameters":{{"binary_data_size":{}}}}})", bytes.size());
      tensors += bytes;
    } else {
      text += R"("data":)" + elements.json() + "}";
    }
  }
  text += binary ? R"(],"parameters":{"binary_data_output":true}})" : "]}";
  const std::size_t length = text.size();
  return {text + tensors, length};
}

std::vector<Input> read_inputs(const Json& metadata, const PayloadOptions& options) {
  std::vector<Input> inputs;
  for (const Json& input : metadata.at("inputs")) inputs.push_back(read_input(input, options));
  check(!inputs.empty(), ErrorCode::data, "the model has no inputs");
  for (const Input& input : inputs) check_datatype(input);
  return inputs;
}

}  // namespace

Payload inference_payload(const PayloadOptions& options) {
  Payload payload;
  std::vector<Input> inputs;
  try {
    const Json metadata = Json::parse(options.metadata);
    payload.target = "/v2/models/" + http::percent_encode(metadata.at("name").get<std::string>()) + "/infer";
    inputs = read_inputs(metadata, options);
  } catch (const Json::exception& error) {
    fail(ErrorCode::data, "the server's description of the model is not as the protocol has it: {}", error.what());
  }
  std::mt19937_64 random(options.seed);
  std::size_t bytes = 0;
  std::size_t length = 0;
  while (payload.bodies.empty() || (payload.bodies.size() < options.bodies && bytes < kMostBytes)) {
    auto [body, json_length] = make_body(inputs, options.binary, random);
    bytes += body.size();
    length = json_length;
    payload.bodies.push_back(std::move(body));
  }
  payload.headers.emplace_back("Content-Type", options.binary ? "application/octet-stream" : "application/json");
  if (options.binary) payload.headers.emplace_back("Inference-Header-Content-Length", std::to_string(length));
  return payload;
}

std::vector<std::string> request_texts(const Payload& payload, const http::Url& url) {
  std::string head = fmt::format("{} {} HTTP/1.1\r\nHost: {}\r\n", payload.method, payload.target, url.authority());
  for (const auto& [name, value] : payload.headers) head += fmt::format("{}: {}\r\n", name, value);
  std::vector<std::string> texts;
  for (const std::string& body : payload.bodies) {
    const bool has_body = !body.empty() || payload.method == "POST" || payload.method == "PUT";
    texts.push_back(head + (has_body ? fmt::format("Content-Length: {}\r\n", body.size()) : "") + "\r\n" + body);
  }
  return texts;
}

}  // namespace lockring::app
