#include "data/augment.h"

#include "core/rng.h"

#include <algorithm>
#include <cmath>

namespace lockring::data {
namespace {

// Parts of the key beside (epoch, sample): epochs never reach them.
constexpr std::uint64_t kAlternation = std::uint64_t{1} << 62;
constexpr std::uint64_t kMixing = std::uint64_t{1} << 63;

Rng stream(const SampleKey& key) {
  return {key.seed, RngStream::augment, static_cast<std::uint64_t>(key.epoch), key.sample};
}

bool draw_bit(Rng& rng) { return (rng.next_u32() & 1) != 0; }

// Mirrored in every other epoch, from a random start: two epochs show an image both ways (Jordan, arXiv:2404.00498).
bool alternate(const SampleKey& key) {
  Rng rng(key.seed, RngStream::augment, kAlternation, key.sample);
  return draw_bit(rng) != ((key.epoch & 1) != 0);
}

Placement draw_placement(const AugmentOptions& options, const SampleKey& key, Rng& rng) {
  Placement placement;
  if (options.crop > 0) {
    const auto places = static_cast<std::uint64_t>(2 * options.crop + 1);
    placement.down = static_cast<std::int64_t>(rng.below(places)) - options.crop;
    placement.right = static_cast<std::int64_t>(rng.below(places)) - options.crop;
  }
  if (options.flip == AugmentOptions::Flip::random) placement.mirrored = draw_bit(rng);
  if (options.flip == AugmentOptions::Flip::alternate) placement.mirrored = alternate(key);
  return placement;
}

// Random erasing (Zhong et al., arXiv:1708.04896): area uniform, aspect log-uniform, given up after some tries.
Rectangle draw_erased(const AugmentOptions& options, std::int64_t height, std::int64_t width, Rng& rng) {
  constexpr int kTries = 10;
  constexpr double kAspect = 10.0 / 3;
  if (rng.uniform() >= static_cast<float>(options.erase_probability)) return {};
  for (int i = 0; i < kTries; ++i) {
    const double share = options.erase_least + (options.erase_most - options.erase_least) * rng.uniform();
    const double area = share * static_cast<double>(height * width);
    const double aspect = std::exp((2 * double{rng.uniform()} - 1) * std::log(kAspect));
    const std::int64_t rows = std::lround(std::sqrt(area * aspect));
    const std::int64_t columns = std::lround(std::sqrt(area / aspect));
    if (rows < 1 || columns < 1 || rows > height || columns > width) continue;
    const auto top = static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(height - rows + 1)));
    const auto left = static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(width - columns + 1)));
    return {top, top + rows, left, left + columns};
  }
  return {};
}

// A square around a uniform centre, cut off at the border (DeVries and Taylor, arXiv:1708.04552).
Rectangle draw_cutout(std::int64_t side, std::int64_t height, std::int64_t width, Rng& rng) {
  const auto top = static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(height))) - side / 2;
  const auto left = static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(width))) - side / 2;
  return {std::max<std::int64_t>(top, 0), std::min(top + side, height), std::max<std::int64_t>(left, 0),
          std::min(left + side, width)};
}

// Jöhnk's method, for alpha of at most 1.
double draw_beta(double alpha, Rng& rng) {
  constexpr double kHalfStep = 1.0 / (1 << 25);  // uniform() gives multiples of 2^-24: never 0 here
  while (true) {
    const double x = std::pow(rng.uniform() + kHalfStep, 1 / alpha);
    const double y = std::pow(rng.uniform() + kHalfStep, 1 / alpha);
    if (x + y <= 1) return x / (x + y);
  }
}

}  // namespace

Augmentation draw_augmentation(const AugmentOptions& options, const SampleKey& key, std::int64_t height,
                               std::int64_t width) {
  Rng rng = stream(key);
  Augmentation drawn;
  drawn.placement = draw_placement(options, key, rng);
  if (options.rotate > 0) drawn.rotation = Rotation(options.rotate * (2 * double{rng.uniform()} - 1));
  if (options.erase_probability > 0) drawn.erased = draw_erased(options, height, width, rng);
  if (options.cutout > 0) drawn.cut = draw_cutout(options.cutout, height, width, rng);
  return drawn;
}

Mix draw_mix(double alpha, const SampleKey& key, std::int64_t batch) {
  Rng rng(key.seed, RngStream::augment, kMixing | static_cast<std::uint64_t>(key.epoch), key.sample);
  Mix mix;
  mix.partner = static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(batch)));
  mix.weight = static_cast<float>(draw_beta(alpha, rng));
  return mix;
}

}  // namespace lockring::data
