// Pictures as clients send them: PNG and JPEG files, alone or in a form.
#pragma once

#include "apps/http/message.h"
#include "apps/serve/servable.h"
#include "core/tensor.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lockring::app::serve {

// The largest picture that is decoded, in pixels: what a large camera makes.
inline constexpr std::int64_t kLargestPicture = std::int64_t{24} << 20;

// Told by the first bytes.
bool is_picture(std::span<const std::byte> file);
// From the header alone; 0 if there is none.
std::int64_t pixels_of(std::span<const std::byte> file);

struct PictureInput {
  Tensor images;  // u8 [1, height, width, channels], as the model takes them
  bool inverted = false;
};
// As `lockring predict` does it. Throws Error{data} on what is not a whole picture, or too large.
PictureInput read_picture(std::span<const std::byte> file, const Description& description);

struct FormPart {
  std::string_view name;
  std::string_view filename;
  std::string_view content;
};
// multipart/form-data (RFC 7578); the parts lie in `body`. Throws Error{usage}.
std::vector<FormPart> parse_form(std::string_view body, std::string_view content_type);

}  // namespace lockring::app::serve
