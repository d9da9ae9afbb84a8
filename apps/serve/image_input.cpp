#include "apps/serve/image_input.h"

#include "core/error.h"
#include "core/text.h"
#include "data/image_file.h"

#include <algorithm>

namespace lockring::app::serve {
namespace {

constexpr std::size_t kMostParts = 1024;
constexpr std::size_t kLongestBoundary = 70;  // RFC 2046

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\r')) text.remove_suffix(1);
  return text;
}

// The value of NAME=VALUE or NAME="VALUE" behind a ';'.
std::string_view parameter_of(std::string_view field, std::string_view name) {
  for (std::size_t at = field.find(';'); at != std::string_view::npos; at = field.find(';', at + 1)) {
    std::string_view rest = trimmed(field.substr(at + 1));
    const std::size_t equals = rest.find('=');
    if (equals == std::string_view::npos || !http::same_name(trimmed(rest.substr(0, equals)), name)) continue;
    rest = trimmed(rest.substr(equals + 1));
    if (rest.starts_with('"')) return rest.substr(1, rest.find('"', 1) - 1);
    return trimmed(rest.substr(0, rest.find(';')));
  }
  return {};
}

// A part without its delimiters: headers, an empty line, content.
FormPart part_of(std::string_view text) {
  const std::size_t end = text.find("\r\n\r\n");
  check(end != std::string_view::npos, "a part of the form has no empty line behind its headers");
  FormPart part{.name = {}, .filename = {}, .content = text.substr(end + 4)};
  for (std::string_view headers = text.substr(0, end + 2); !headers.empty();) {
    const std::size_t line_end = headers.find("\r\n");
    const std::string_view line = headers.substr(0, line_end);
    headers.remove_prefix(line_end + 2);
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos || !http::same_name(line.substr(0, colon), "content-disposition")) continue;
    part.name = parameter_of(line, "name");
    part.filename = parameter_of(line, "filename");
  }
  return part;
}

}  // namespace

bool is_picture(std::span<const std::byte> file) {
  const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
  return text.starts_with("\x89PNG\r\n\x1a\n") || text.starts_with("\xff\xd8\xff");
}

std::int64_t pixels_of(std::span<const std::byte> file) {
  try {
    const data::ImageHeader header = data::read_image_header(file, kLargestPicture);
    return header.height * header.width;
  } catch (const Error&) {
    return 0;
  }
}

PictureInput read_picture(std::span<const std::byte> file, const Description& description) {
  const Shape& image = description.image;
  const data::DecodedImage decoded = data::decode_image(file, kLargestPicture);
  const data::ModelImage fitted = data::fit_image(decoded, image[0], image[1], image[2], description.light_on_dark);
  return {fitted.pixels.view({1, image[0], image[1], image[2]}), fitted.inverted};
}

std::vector<FormPart> parse_form(std::string_view body, std::string_view content_type) {
  const std::string_view boundary = parameter_of(content_type, "boundary");
  check(!boundary.empty() && boundary.size() <= kLongestBoundary, "the form's Content-Type has no boundary");
  const std::string delimiter = "\r\n--" + std::string(boundary);
  check(body.starts_with(std::string_view(delimiter).substr(2)), "the form does not begin with its boundary");
  body.remove_prefix(delimiter.size() - 2);
  std::vector<FormPart> parts;
  while (!body.starts_with("--")) {
    check(body.starts_with("\r\n"), "the form's boundary is followed by something else than a line's end");
    const std::size_t end = body.find(delimiter, 2);
    check(end != std::string_view::npos, "the form ends within a part");
    check(parts.size() < kMostParts, "the form has more than {} parts", kMostParts);
    // The line's end may be the first half of the empty line, where there are no headers.
    parts.push_back(part_of(body.substr(2, end - 2)));
    body.remove_prefix(end + delimiter.size());
  }
  return parts;
}

}  // namespace lockring::app::serve
