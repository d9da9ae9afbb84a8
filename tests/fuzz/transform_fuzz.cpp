// Transform specs. One that is taken can be written down and read again, and gives finite numbers.
#include "data/transform.h"

#include "tests/fuzz/fuzz.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

namespace lockring::fuzz {
namespace {

constexpr std::int64_t kImages = 3, kHeight = 7, kWidth = 6;

data::Split small_split(std::int64_t channels) {
  const Shape shape{kImages, kHeight, kWidth, channels};
  std::vector<std::uint8_t> pixels(static_cast<std::size_t>(shape.elements()));
  for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<std::uint8_t>(i * 37);
  const std::array<std::uint8_t, kImages> labels{0, 1, 2};
  return {data::in_memory(Tensor::from<std::uint8_t>(pixels, shape)), Tensor::from<std::uint8_t>(labels, {kImages})};
}

void use(const data::Transform& transform, std::int64_t channels) {
  transform.check_fits(kHeight, kWidth, channels);
  const data::Split split = small_split(channels);
  data::Batch batch = data::Batch::empty({kHeight, kWidth, channels}, kImages, transform.mixes());
  const std::array<std::uint32_t, kImages> samples{0, 1, 2};
  for (const std::int64_t epoch : {0, 1}) {
    transform.fill(split, samples, {0, kImages}, 7, epoch, batch);
    expect(std::ranges::all_of(batch.images.values(), [](float x) { return std::isfinite(x); }), "pixels are finite");
  }
  for (const data::View& view : transform.views())
    transform.convert(split.images->copy(0, kImages), view, batch.images.data());
}

}  // namespace
}  // namespace lockring::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace lockring;
  fuzz::read_or_refuse(ErrorCode::usage, [&] {
    const auto transform = data::Transform::parse(fuzz::text_of(bytes, size), {{0.5F}, {0.25F}});
    const std::string text = to_string(transform);
    fuzz::expect(to_string(data::Transform::parse(text)) == text, "a spec comes back");
    for (const std::int64_t channels : {1, 3}) fuzz::use(transform, channels);
  });
  return 0;
}
