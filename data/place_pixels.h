// The random part of a transform, on bytes: a row of an image shifted sideways and mirrored.
#pragma once

#include <cstdint>

namespace lockring::data {

// How one image is cut and turned.
struct Placement {
  std::int64_t down = 0;   // the output's first row is this row of the input; negative means padding above
  std::int64_t right = 0;  // likewise for columns, before mirroring
  bool mirrored = false;
};

// Writes rows [begin, end) of the placed image [height, width, channels]; what lies outside the input is 0. The shift
// is smaller than the image.
void place_rows(const std::uint8_t* pixels, std::int64_t height, std::int64_t width, std::int64_t channels,
                const Placement& placement, std::int64_t begin, std::int64_t end, std::uint8_t* rows);

}  // namespace lockring::data
