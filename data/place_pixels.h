// Images of bytes, moved: shifted, mirrored, turned.
#pragma once

#include <cstdint>

namespace lockring::data {

// How one image is cut and turned.
struct Placement {
  std::int64_t down = 0;   // the output's first row is this row of the input; negative means padding above
  std::int64_t right = 0;  // likewise for columns, before mirroring
  bool mirrored = false;

  bool operator==(const Placement&) const = default;
};

// Writes rows [begin, end) of the placed image [height, width, channels]; what lies outside the input is 0. The shift
// is smaller than the image.
void place_rows(const std::uint8_t* pixels, std::int64_t height, std::int64_t width, std::int64_t channels,
                const Placement& placement, std::int64_t begin, std::int64_t end, std::uint8_t* rows);

// A turn around the centre, as sine and cosine in units of 2^-16; by default none.
struct Rotation {
  Rotation() = default;
  explicit Rotation(double degrees);

  std::int64_t sine = 0;
  std::int64_t cosine = std::int64_t{1} << 16;
};

// Writes the image [height, width, channels] turned, bilinearly; what lies outside the input is 0.
void rotate_pixels(const std::uint8_t* pixels, std::int64_t height, std::int64_t width, std::int64_t channels,
                   const Rotation& rotation, std::uint8_t* turned);

}  // namespace lockring::data
