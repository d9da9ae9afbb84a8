// The text form of a transform.
#include "core/error.h"
#include "core/text.h"
#include "data/transform.h"

#include <charconv>
#include <cmath>
#include <utility>

namespace lockring::data {
namespace {

// More would be a typing error; check_fits compares with the images.
constexpr std::int64_t kMostPadding = 1024;

std::vector<std::string> split_at(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (true) {
    const std::size_t end = text.find(separator);
    parts.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

// The whole text must be the number; `part` is what the message quotes.
template <class T>
T parse_number(const std::string& text, std::string_view part) {
  T value{};
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  check(error == std::errc{} && stop == end, "transform '{}': expected a number, found '{}'", part, text);
  return value;
}

std::vector<float> parse_floats(const std::string& text, std::string_view part) {
  std::vector<float> values;
  for (const std::string& number : split_at(text, '/')) {
    values.push_back(parse_number<float>(number, part));
    check(std::isfinite(values.back()), "transform '{}': expected a finite number, found '{}'", part, number);
  }
  return values;
}

// `least` and `most` are the two counts that are allowed.
void check_arguments(std::string_view part, const std::vector<std::string>& words, std::size_t least,
                     std::size_t most) {
  const std::size_t found = words.size() - 1;
  check(found == least || found == most, "transform '{}': expected {} of '{}', found {} numbers", part,
        least == most ? fmt::format("{} numbers", least) : fmt::format("{} or {} numbers", least, most), words[0],
        found);
}

// The numbers in the spec, or those that are known of the training images.
ChannelStatistics parse_statistics(std::string_view part, const std::vector<std::string>& words,
                                   const ChannelStatistics& known) {
  ChannelStatistics statistics = known;
  if (words.size() > 1) statistics = {parse_floats(words[1], part), parse_floats(words[2], part)};
  check(!statistics.mean.empty(), "transform '{}': expected normalize:MEAN:DEVIATION, no statistics are known", part);
  check(statistics.mean.size() == statistics.deviation.size(),
        "transform '{}': expected as many means as deviations, found {} and {}", part, statistics.mean.size(),
        statistics.deviation.size());
  for (const float deviation : statistics.deviation)
    check(deviation > 0, "transform '{}': expected a deviation above 0, found {}", part, deviation);
  return statistics;
}

std::string join_floats(std::span<const float> values) {
  // The shortest digits that read back as the same float.
  std::string text;
  for (const float value : values) text += fmt::format("{}{}", text.empty() ? "" : "/", value);
  return text;
}

}  // namespace

Transform Transform::parse(std::string_view spec, const ChannelStatistics& statistics) {
  static const std::vector<std::string> kNames = {"normalize", "crop", "flip"};
  Transform transform;
  const auto parts = spec.empty() ? std::vector<std::string>{} : split_at(spec, ',');
  for (const std::string& part : parts) {
    const std::vector<std::string> words = split_at(part, ':');
    if (words[0] == "normalize") {
      check(!transform.normalize_, "transform '{}': normalize is given twice", spec);
      check_arguments(part, words, 0, 2);
      transform.set_statistics(parse_statistics(part, words, statistics));
    } else if (words[0] == "crop") {
      check(transform.crop_ == 0, "transform '{}': crop is given twice", spec);
      check_arguments(part, words, 1, 1);
      transform.crop_ = parse_number<std::int64_t>(words[1], part);
      check(transform.crop_ >= 1 && transform.crop_ <= kMostPadding, "transform '{}': expected 1 to {} pixels", part,
            kMostPadding);
    } else if (words[0] == "flip") {
      check(!transform.flip_, "transform '{}': flip is given twice", spec);
      check_arguments(part, words, 0, 0);
      transform.flip_ = true;
    } else {
      fail(ErrorCode::usage, "transform '{}': expected {}, found '{}'{}", spec, joined(kNames), words[0],
           did_you_mean(words[0], kNames));
    }
  }
  return transform;
}

// One product and one sum per pixel: (b / 255 - mean) / deviation = b * scale + shift. Rounded once, from double.
void Transform::set_statistics(ChannelStatistics statistics) {
  statistics_ = std::move(statistics);
  normalize_ = true;
  scale_.clear();
  shift_.clear();
  for (std::size_t i = 0; i < statistics_.mean.size(); ++i) {
    const double mean = statistics_.mean[i];
    const double deviation = statistics_.deviation[i];
    scale_.push_back(static_cast<float>(1 / (255 * deviation)));
    shift_.push_back(static_cast<float>(-mean / deviation));
  }
}

std::string to_string(const Transform& transform) {
  std::vector<std::string> parts;
  if (transform.normalize_)
    parts.push_back(fmt::format("normalize:{}:{}", join_floats(transform.statistics_.mean),
                                join_floats(transform.statistics_.deviation)));
  if (transform.crop_ > 0) parts.push_back(fmt::format("crop:{}", transform.crop_));
  if (transform.flip_) parts.push_back("flip");
  return joined(parts, ",");
}

}  // namespace lockring::data
