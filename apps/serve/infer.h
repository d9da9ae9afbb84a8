// An inference as the Open Inference Protocol v2 asks for it, whatever form it came in.
//
// https://github.com/kserve/open-inference-protocol, and Triton's extensions binary_tensor_data and classification.
#pragma once

#include "apps/http/message.h"
#include "apps/serve/request.h"
#include "apps/serve/servable.h"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lockring::app::serve {

// An output of a served name: f32 [n, dimensions...].
struct OutputInfo {
  std::string name;
  std::vector<std::int64_t> dimensions;  // of one image
  int member = -1;                       // whose probabilities these are; -1: the answer's own
};
// "probabilities"; of an ensemble also "agreement" and "MEMBER.probabilities".
std::vector<OutputInfo> outputs_of(const Description& description);

struct WantedOutput {
  OutputInfo info;
  bool binary = false;
  std::int64_t classification = 0;  // the likeliest classes as text, so many; 0: numbers
  bool named = false;               // by the client: it must be there
};

struct InferRequest {
  std::string id;
  Tensor images;  // as Request has them
  std::vector<WantedOutput> outputs;
  std::optional<std::chrono::microseconds> timeout;
  std::optional<bool> inverted;  // for pictures: whether the ground was light
};

// `body` has the JSON in its first `json_bytes` bytes, and behind it the binary tensors. Throws Error{usage} that names
// the field that is wrong. What is allocated is bounded by the size of the body, whatever shapes it states.
InferRequest parse_infer(const http::Body& body, std::size_t json_bytes, const Description& description);
// A body without JSON: numbers as they lie in memory, for the model's only input, or the file of a picture. Outputs are
// binary.
InferRequest parse_raw(const http::Body& body, const Description& description);

// Outputs in the answer to a request that names none.
std::vector<WantedOutput> default_outputs(const Description& description, bool binary);

// The answer to `request`, or the error that it is (error_of). JSON with a header, or JSON followed by tensors.
http::Response render_infer(const InferRequest& request, const Answer& answer, const Description& description);
// 503, 504, 499 or 500 with {"error": ...}, and Retry-After where trying again makes sense.
http::Response error_of(const Answer& answer);

// `floats` that stand for bytes over 255 become numbers that stand for bytes; nearly whole ones are whole, so that a
// byte sent as a float32 gives the answer that the byte gives. Throws Error{usage} on one that is not finite.
void to_bytes_unit(std::span<float> floats, std::string_view name);

}  // namespace lockring::app::serve
