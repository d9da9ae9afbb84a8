#include "apps/predict_inputs.h"

#include "core/error.h"
#include "data/byte_reader.h"
#include "data/content.h"
#include "data/idx.h"
#include "data/image_file.h"

#include <array>
#include <charconv>
#include <filesystem>

namespace lockring::app {
namespace {

// Entries [begin, end) of an IDX file; end -1 is the last.
struct Entries {
  std::string file;
  bool given = false;
  std::int64_t begin = 0;
  std::int64_t end = -1;
};

std::int64_t entry_number(std::string_view text, const std::string& argument) {
  std::int64_t number = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  check(error == std::errc() && rest == text.data() + text.size() && number >= 0, ErrorCode::data,
        "{}: expected entries as [5] or [0:10], found [{}]", argument, text);
  return number;
}

// A file that is there under its whole name is that file, brackets or not.
Entries split_argument(const std::string& argument) {
  const std::size_t bracket = argument.rfind('[');
  if (!argument.ends_with(']') || bracket == std::string::npos || std::filesystem::exists(argument))
    return {.file = argument};
  Entries entries{.file = argument.substr(0, bracket), .given = true};
  const std::string_view inside = std::string_view(argument).substr(bracket + 1, argument.size() - bracket - 2);
  const std::size_t colon = inside.find(':');
  entries.begin = entry_number(inside.substr(0, colon), argument);
  entries.end = colon == std::string_view::npos ? entries.begin + 1 : entry_number(inside.substr(colon + 1), argument);
  check(entries.begin < entries.end, ErrorCode::data, "{}: there are no such entries", argument);
  return entries;
}

// Told by the content: image files begin otherwise, and none of them comes as gzip.
bool is_idx(const std::filesystem::path& path) {
  data::ByteReader reader(path);
  std::array<std::byte, 2> start{std::byte{1}};
  reader.read(start);
  return reader.compressed() || start == std::array<std::byte, 2>{};
}

data::DecodedImage decoded(const Tensor& pixels) {
  const std::span values = pixels.values<std::uint8_t>();
  return {.height = pixels.size(0),
          .width = pixels.size(1),
          .channels = pixels.size(2),
          .pixels = {values.begin(), values.end()}};
}

// What a model needs to know of an image: its size, and how it came to be.
struct Model {
  const models::ImageSpec& images;
  const data::Front& front;
};

// Data that a transform made grey show light and dark things on any ground.
PredictInput input_from(std::string name, const data::DecodedImage& image, const Model& model) {
  const auto& [images, front] = model;
  data::ModelImage fitted = data::fit_image(image, images.height, images.width, images.channels, !front.grayscale);
  return {.name = std::move(name), .pixels = std::move(fitted.pixels), .inverted = fitted.inverted};
}

std::vector<PredictInput> read_entries(const Entries& entries, const Model& model) {
  const models::ImageSpec& images = model.images;
  const Tensor stored = data::read_idx(entries.file);
  check(stored.rank() == 3 || (stored.rank() == 4 && (stored.size(3) == 1 || stored.size(3) == 3)), ErrorCode::data,
        "{}: expected images [n, height, width] or [n, height, width, 1 or 3], found {}", entries.file,
        to_string(stored.shape()));
  const Tensor all = data::as_images(stored);
  const std::int64_t end = entries.end < 0 ? all.size(0) : entries.end;
  check(end <= all.size(0), ErrorCode::data, "{}: has {} images, not one of number {}", entries.file, all.size(0),
        end - 1);
  const bool fits = all.size(1) == images.height && all.size(2) == images.width && all.size(3) == images.channels;
  std::vector<PredictInput> inputs;
  for (std::int64_t i = entries.begin; i < end; ++i) {
    const Tensor image = all.slice(i, i + 1).view({all.size(1), all.size(2), all.size(3)});
    std::string name = fmt::format("{}[{}]", entries.file, i);
    if (fits) {
      inputs.push_back({.name = std::move(name), .pixels = image});
    } else {
      inputs.push_back(input_from(std::move(name), decoded(image), model));
    }
  }
  return inputs;
}

}  // namespace

std::vector<PredictInput> read_inputs(const std::string& argument, const models::ImageSpec& images,
                                      const data::Front& front) {
  const Entries entries = split_argument(argument);
  if (is_idx(entries.file)) return read_entries(entries, {images, front});
  check(!entries.given, ErrorCode::data, "{}: only IDX files have entries", argument);
  return {input_from(argument, data::read_image(argument), {images, front})};
}

}  // namespace lockring::app
