// Bodies of inference requests: JSON, JSON with tensors behind it, tensors or pictures alone, forms, and TensorFlow
// Serving's JSON. The first byte says which, the second how much of the body is JSON.
#include "apps/serve/image_input.h"
#include "apps/serve/infer.h"
#include "apps/serve/infer_json.h"
#include "tests/fuzz/fuzz.h"

#include <string_view>

namespace lockring::fuzz {
namespace {

using namespace app;

void check_request(const serve::InferRequest& request, std::size_t bytes) {
  expect(request.images.rank() == 4 && request.images.size(0) >= 1, "there is an image");
  expect(request.images.elements() <= static_cast<std::int64_t>(bytes), "what is allocated follows what was received");
  expect(!request.outputs.empty(), "there is an output");
}

void read(std::string_view text) {
  const serve::Description model{.name = "m", .platform = "lockring", .image = {2, 2, 1}, .classes = {"a", "b"}};
  const int form = text[0] % 4;
  const auto share = static_cast<unsigned char>(text[1]);
  http::Body body;
  body.append(text.substr(2));
  if (form == 0) check_request(serve::parse_infer(body, body.size() * share / 255, model), body.size());
  if (form == 1) {
    const bool picture = serve::is_picture(body.bytes());
    if (picture && serve::pixels_of(body.bytes()) > 1 << 16) return;  // takes long, and is fuzzed as an image
    check_request(serve::parse_raw(body, model), picture ? 1 << 20 : body.size());
  }
  if (form == 2) {
    for (const serve::FormPart& part : serve::parse_form(body.text(), "multipart/form-data; boundary=x"))
      expect(part.content.data() >= body.data() && part.content.end() <= body.text().end(), "parts lie in the body");
  }
  if (form == 3) serve::parse_predict_json(body.text());
}

}  // namespace
}  // namespace lockring::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace lockring;
  if (size < 2) return 0;
  const std::string_view text = fuzz::text_of(bytes, size);
  fuzz::read_or_refuse(ErrorCode::usage, [&] {
    try {
      fuzz::read(text);
    } catch (const Error& error) {
      if (error.code() == ErrorCode::data) fail(ErrorCode::usage, "{}", error.what());  // of a picture
      throw;
    }
  });
  return 0;
}
