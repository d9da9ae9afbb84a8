// The JSON of an inference request as it was sent, checked for its form only.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lockring::app::serve {

// "data" as numbers, row-major.
struct JsonNumbers {
  std::vector<float> values;
  std::vector<std::int64_t> sizes;  // of the nesting, outermost first; just the number for a flat list
  bool whole_bytes = true;          // each is a whole number from 0 to 255
};

struct JsonInput {
  std::string name;
  std::string datatype;
  std::optional<std::vector<std::int64_t>> shape;
  std::optional<JsonNumbers> data;
  std::optional<std::uint64_t> binary_size;
  bool shared_memory = false;
};

struct JsonOutput {
  std::string name;
  std::optional<bool> binary;
  std::int64_t classification = 0;
};

struct JsonRequest {
  std::string id;
  std::optional<std::int64_t> timeout;  // microseconds
  std::optional<bool> binary_output;
  std::vector<JsonInput> inputs;
  std::optional<std::vector<JsonOutput>> outputs;
};

// Behind the text 64 bytes more can be read. Throws Error{usage} that says where and what is wrong: on anything that is
// not the protocol's, and on keys that come twice.
JsonRequest parse_infer_json(std::string_view text);

// TensorFlow Serving's {"instances": [...]} or {"inputs": ...}, for one input of any name.
struct PredictRequest {
  bool columns = false;  // "inputs": the answer is "outputs", else "predictions"
  JsonNumbers data;
};
PredictRequest parse_predict_json(std::string_view text);

// {"model": NAME, "request": {...}}: a job, whose request is as /infer takes it.
struct JobRequest {
  std::string model;
  std::string request;  // JSON, not looked into
};
JobRequest parse_job_json(std::string_view text);

}  // namespace lockring::app::serve
