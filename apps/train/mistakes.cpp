#include "apps/train/mistakes.h"

#include "apps/canvas.h"
#include "data/encode_png.h"

#include <algorithm>
#include <vector>

namespace lockring::app {
namespace {

// The panel is as wide as TensorBoard's cards.
constexpr std::int64_t kColumns = 4;
constexpr std::int64_t kMost = kColumns * 5;
constexpr std::int64_t kSide = 84;  // of an image; fourteen characters are as wide
constexpr std::int64_t kGap = 2;
constexpr std::int64_t kLine = kGlyphHeight + 3;
constexpr std::int64_t kTileWidth = kSide + kGap;
constexpr std::int64_t kTileHeight = kSide + 2 * kLine + 3 * kGap;
constexpr std::int64_t kHeading = 2 * kLine;
constexpr std::size_t kCaption = kSide / kGlyphAdvance;

constexpr Colour kGround{32, 32, 32};
constexpr Colour kTruth{230, 230, 230};
constexpr Colour kMistake{255, 150, 50};

struct Mistake {
  std::uint32_t sample;
  std::size_t truth;
  std::size_t predicted;
};

std::vector<Mistake> first_mistakes(const data::Split& split, std::span<const std::uint32_t> samples,
                                    const Evaluation& evaluation) {
  std::vector<Mistake> mistakes;
  const auto* labels = split.labels.data<std::uint8_t>();
  for (std::size_t i = 0; i < samples.size() && std::ssize(mistakes) < kMost; ++i) {
    const std::int32_t predicted = evaluation.predictions[i];
    const std::size_t truth = labels[samples[i]];
    if (predicted < 0 || static_cast<std::size_t>(predicted) == truth) continue;
    mistakes.push_back({samples[i], truth, static_cast<std::size_t>(predicted)});
  }
  return mistakes;
}

// The largest box of the image's proportions in the middle of a square.
Canvas::Box box_for(const Tensor& image, std::int64_t top, std::int64_t left) {
  const std::int64_t longest = std::max(image.size(0), image.size(1));
  const std::int64_t height = std::max<std::int64_t>(1, kSide * image.size(0) / longest);
  const std::int64_t width = std::max<std::int64_t>(1, kSide * image.size(1) / longest);
  return {.top = top + (kSide - height) / 2, .left = left + (kSide - width) / 2, .height = height, .width = width};
}

std::string caption(const std::string& name) { return name.substr(0, kCaption); }

}  // namespace

std::optional<PngImage> mistakes_panel(const data::Split& split, std::span<const std::uint32_t> samples,
                                       const Evaluation& evaluation, std::span<const std::string> classes) {
  const std::vector<Mistake> mistakes = first_mistakes(split, samples, evaluation);
  if (mistakes.empty()) return std::nullopt;
  const std::int64_t rows = (std::ssize(mistakes) + kColumns - 1) / kColumns;
  Canvas canvas(kHeading + rows * kTileHeight, kColumns * kTileWidth + kGap, kGround);
  canvas.write("WHAT IT IS", kGap + 3, kGap, kTruth);
  canvas.write("WHAT IT WAS TAKEN FOR", kGap + 3, kGap + kTileWidth, kMistake);
  for (std::int64_t i = 0; i < std::ssize(mistakes); ++i) {
    const Mistake& mistake = mistakes[i];
    const std::int64_t top = kHeading + i / kColumns * kTileHeight;
    const std::int64_t left = i % kColumns * kTileWidth + kGap;
    const Shape& shape = split.images->shape();
    const Tensor image = split.images->copy(mistake.sample, mistake.sample + 1).view({shape[1], shape[2], shape[3]});
    canvas.draw(image, box_for(image, top, left));
    canvas.write(caption(classes[mistake.truth]), top + kSide + 3, left, kTruth);
    canvas.write(caption(classes[mistake.predicted]), top + kSide + 3 + kLine, left, kMistake);
  }
  const Tensor& pixels = canvas.pixels();
  return PngImage{pixels.size(0), pixels.size(1), pixels.size(2), data::encode_png(pixels)};
}

}  // namespace lockring::app
