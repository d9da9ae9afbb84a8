// The text form of a transform: a table of its parts.
#include "core/error.h"
#include "core/text.h"
#include "data/transform.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

namespace lockring::data {
namespace {

// More would be a typing error; check_fits compares with the images.
constexpr std::int64_t kMostPadding = 1024;
constexpr std::int64_t kMostSize = 1 << 16;
// Of a normalized pixel: a model could not compute with more.
constexpr double kMostNormalized = 1e12;

std::vector<std::string> split_at(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (true) {
    const std::size_t end = text.find(separator);
    parts.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

// One part of a spec as given: "crop:2".
struct Words {
  std::string part;
  std::vector<std::string> arguments;
  const ChannelStatistics& known;  // of the training images, or empty

  template <class T>
  T number(const std::string& text) const {
    T value{};
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, value);
    check(error == std::errc{} && stop == end, "transform '{}': expected a number, found '{}'", part, text);
    return value;
  }
  template <class T>
  T number(std::size_t i, T least, T most, const char* what) const {
    const T value = number<T>(arguments[i]);
    check(value >= least && value <= most, "transform '{}': expected {} to {} {}, found {}", part, least, most, what,
          arguments[i]);
    return value;
  }
  std::vector<float> floats(std::size_t i) const {
    std::vector<float> values;
    for (const std::string& text : split_at(arguments[i], '/')) {
      values.push_back(number<float>(text));
      check(std::isfinite(values.back()), "transform '{}': expected a finite number, found '{}'", part, text);
    }
    return values;
  }
  std::string one_of(std::size_t i, const std::vector<std::string>& names) const {
    check(std::ranges::find(names, arguments[i]) != names.end(), "transform '{}': expected {}, found '{}'{}", part,
          joined(names, " or "), arguments[i], did_you_mean(arguments[i], names));
    return arguments[i];
  }
};

// The numbers in the spec, or those that are known of the training images.
ChannelStatistics parse_statistics(const Words& words) {
  ChannelStatistics statistics = words.known;
  if (!words.arguments.empty()) statistics = {words.floats(0), words.floats(1)};
  const std::string& part = words.part;
  check(!statistics.mean.empty(), "transform '{}': expected normalize:MEAN:DEVIATION, no statistics are known", part);
  check(statistics.mean.size() == statistics.deviation.size(),
        "transform '{}': expected as many means as deviations, found {} and {}", part, statistics.mean.size(),
        statistics.deviation.size());
  for (std::size_t i = 0; i < statistics.mean.size(); ++i) {
    const double deviation = statistics.deviation[i];
    check(deviation > 0, "transform '{}': expected a deviation above 0, found {}", part, deviation);
    const double largest = std::max(std::abs(statistics.mean[i]), 1.0F) / deviation;
    check(largest < kMostNormalized, "transform '{}': a mean of {} and a deviation of {} give numbers above {}", part,
          statistics.mean[i], deviation, kMostNormalized);
  }
  return statistics;
}

// "28" or "28x32".
Front parse_resize(const Words& words, Front front) {
  const std::vector<std::string> sizes = split_at(words.arguments[0], 'x');
  check(sizes.size() <= 2, "transform '{}': expected resize:SIZE or resize:HEIGHTxWIDTH", words.part);
  front.height = words.number<std::int64_t>(sizes.front());
  front.width = words.number<std::int64_t>(sizes.back());
  check(std::min(front.height, front.width) >= 1 && std::max(front.height, front.width) <= kMostSize,
        "transform '{}': expected sizes from 1 to {}", words.part, kMostSize);
  return front;
}

void parse_erase(const Words& words, AugmentOptions& to) {
  to.erase_probability = words.number<double>(0, 0, 1, "as the probability");
  check(to.erase_probability > 0, "transform '{}': expected a probability above 0", words.part);
  to.erase_least = 0.02;
  to.erase_most = 0.33;
  if (words.arguments.size() == 1) return;
  to.erase_least = words.number<double>(1, 0, 1, "of the area");
  to.erase_most = words.number<double>(2, 0, 1, "of the area");
  check(to.erase_least <= to.erase_most && to.erase_most > 0,
        "transform '{}': expected the least share of the area before the most", words.part);
}

std::vector<View> make_views(const std::string& tta) {
  std::vector<View> views = {{{}, 0.5f}, {{.mirrored = true}, 0.5f}};
  if (tta != "shift") return views;
  // The image as it is counts as much as the two that are moved.
  for (View& view : views) view.weight = 0.25f;
  for (const std::int64_t by : {-1, 1})
    for (const bool mirrored : {false, true}) views.push_back({{by, by, mirrored}, 0.125f});
  return views;
}

std::string join_floats(std::span<const float> values) {
  // The shortest digits that read back as the same float.
  std::string text;
  for (const float value : values) text += fmt::format("{}{}", text.empty() ? "" : "/", value);
  return text;
}

std::string unless_zero(double value, const std::string& text) { return value == 0 ? "" : text; }

}  // namespace

// What a part is called, how many arguments it takes (one of two counts), and how it is read and written.
struct TransformPart {
  std::string name;
  std::size_t least;
  std::size_t most;
  void (*read)(const Words& words, Transform& to);
  std::string (*write)(const Transform& transform);  // with its name; empty if the transform lacks the part

  static const std::vector<TransformPart>& all();
};

const std::vector<TransformPart>& TransformPart::all() {
  using T = Transform;
  using Flip = AugmentOptions::Flip;
  static const std::vector<TransformPart> parts = {
      {"resize", 1, 1, [](const Words& words, T& to) { to.front_ = parse_resize(words, to.front_); },
       [](const T& from) {
         return to_string(Front{from.front_.height, from.front_.width, false});
       }},
      {"grayscale", 0, 0, [](const Words&, T& to) { to.front_.grayscale = true; },
       [](const T& from) {
         return to_string(Front{0, 0, from.front_.grayscale});
       }},
      {"normalize", 0, 2, [](const Words& words, T& to) { to.set_statistics(parse_statistics(words)); },
       [](const T& from) {
         return from.normalize_ ? fmt::format("normalize:{}:{}", join_floats(from.statistics_.mean),
                                              join_floats(from.statistics_.deviation))
                                : "";
       }},
      {"rotate", 1, 1,
       [](const Words& words, T& to) { to.augment_.rotate = words.number<double>(0, 0.01, 180, "degrees"); },
       [](const T& from) { return unless_zero(from.augment_.rotate, fmt::format("rotate:{}", from.augment_.rotate)); }},
      {"crop", 1, 1,
       [](const Words& words, T& to) { to.augment_.crop = words.number<std::int64_t>(0, 1, kMostPadding, "pixels"); },
       [](const T& from) { return from.augment_.crop == 0 ? "" : fmt::format("crop:{}", from.augment_.crop); }},
      {"flip", 0, 1,
       [](const Words& words, T& to) {
         to.augment_.flip = words.arguments.empty() ? Flip::random : Flip::alternate;
         if (!words.arguments.empty()) words.one_of(0, {"alternate"});
       },
       [](const T& from) -> std::string {
         if (from.augment_.flip == Flip::none) return "";
         return from.augment_.flip == Flip::random ? "flip" : "flip:alternate";
       }},
      {"erase", 1, 3, [](const Words& words, T& to) { parse_erase(words, to.augment_); },
       [](const T& from) {
         const AugmentOptions& augment = from.augment_;
         return unless_zero(augment.erase_probability, fmt::format("erase:{}:{}:{}", augment.erase_probability,
                                                                   augment.erase_least, augment.erase_most));
       }},
      {"cutout", 1, 1,
       [](const Words& words, T& to) { to.augment_.cutout = words.number<std::int64_t>(0, 1, kMostSize, "pixels"); },
       [](const T& from) { return from.augment_.cutout == 0 ? "" : fmt::format("cutout:{}", from.augment_.cutout); }},
      {"mixup", 1, 1,
       [](const Words& words, T& to) { to.augment_.mixup = words.number<double>(0, 0.05, 1, "as alpha"); },
       [](const T& from) { return unless_zero(from.augment_.mixup, fmt::format("mixup:{}", from.augment_.mixup)); }},
      {"tta", 1, 1,
       [](const Words& words, T& to) {
         to.tta_ = words.one_of(0, {"flip", "shift"});
         to.views_ = make_views(to.tta_);
       },
       [](const T& from) { return from.tta_.empty() ? "" : "tta:" + from.tta_; }},
  };
  return parts;
}

namespace {

const TransformPart& find_part(std::string_view spec, const std::string& name) {
  std::vector<std::string> names;
  for (const TransformPart& part : TransformPart::all()) {
    if (part.name == name) return part;
    names.push_back(part.name);
  }
  fail(ErrorCode::usage, "transform '{}': expected {}, found '{}'{}", spec, joined(names), name,
       did_you_mean(name, names));
}

}  // namespace

Transform Transform::parse(std::string_view spec, const ChannelStatistics& statistics) {
  Transform transform;
  std::vector<const TransformPart*> given;
  const auto texts = spec.empty() ? std::vector<std::string>{} : split_at(spec, ',');
  for (const std::string& text : texts) {
    std::vector<std::string> arguments = split_at(text, ':');
    const TransformPart& part = find_part(spec, arguments.front());
    check(std::ranges::find(given, &part) == given.end(), "transform '{}': {} is given twice", spec, part.name);
    given.push_back(&part);
    arguments.erase(arguments.begin());
    check(arguments.size() == part.least || arguments.size() == part.most,
          "transform '{}': expected {}{} values of '{}', found {}", text, part.least,
          part.least == part.most ? "" : fmt::format(" or {}", part.most), part.name, arguments.size());
    part.read({text, std::move(arguments), statistics}, transform);
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
  for (const TransformPart& part : TransformPart::all())
    if (std::string text = part.write(transform); !text.empty()) parts.push_back(std::move(text));
  return joined(parts, ",");
}

}  // namespace lockring::data
