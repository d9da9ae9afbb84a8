#include "data/place_pixels.h"

#include <algorithm>
#include <cstring>

namespace lockring::data {
namespace {

// Rows are short: eight bytes at a time, where the last eight may overlap the ones before.
void reverse_bytes(const std::uint8_t* from, std::int64_t count, std::uint8_t* to) {
  constexpr std::int64_t kWord = 8;
  if (count < kWord) {
    std::reverse_copy(from, from + count, to);
    return;
  }
  const auto reverse_word = [=](std::int64_t at) {
    std::uint64_t word;
    std::memcpy(&word, from + count - kWord - at, kWord);
    word = __builtin_bswap64(word);
    std::memcpy(to + at, &word, kWord);
  };
  for (std::int64_t at = 0; at < count - kWord; at += kWord) reverse_word(at);
  reverse_word(count - kWord);
}

void mirror_pixels(const std::uint8_t* from, std::int64_t count, std::int64_t channels, std::uint8_t* to) {
  if (channels == 1) return reverse_bytes(from, count, to);
  for (std::int64_t i = 0; i < count; ++i) std::copy_n(from + (count - 1 - i) * channels, channels, to + i * channels);
}

}  // namespace

void place_rows(const std::uint8_t* pixels, std::int64_t height, std::int64_t width, std::int64_t channels,
                const Placement& placement, std::int64_t begin, std::int64_t end, std::uint8_t* rows) {
  const std::int64_t row = width * channels;
  const std::int64_t kept = width - std::abs(placement.right);
  const std::int64_t from_column = std::max<std::int64_t>(0, placement.right);
  const std::int64_t gap_before = std::max<std::int64_t>(0, -placement.right);
  const std::int64_t to_column = placement.mirrored ? width - kept - gap_before : gap_before;
  if (placement.right != 0 || placement.down != 0) std::memset(rows, 0, static_cast<std::size_t>((end - begin) * row));
  const std::int64_t first = std::max(begin, -placement.down);
  const std::int64_t last = std::min(end, height - placement.down);
  for (std::int64_t y = first; y < last; ++y) {
    const std::uint8_t* from = pixels + (y + placement.down) * row + from_column * channels;
    std::uint8_t* to = rows + (y - begin) * row + to_column * channels;
    if (placement.mirrored)
      mirror_pixels(from, kept, channels, to);
    else
      std::memcpy(to, from, static_cast<std::size_t>(kept * channels));
  }
}

}  // namespace lockring::data
