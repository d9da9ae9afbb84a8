// A curve in one line of text.
#pragma once

#include <span>
#include <string>

namespace lockring::app {

// The values from left to right, as high as they are between the least and the largest of them, in at most `columns`
// characters: where there are more values, each character is the mean of some. UTF-8 blocks, or digits in ASCII. What
// is not finite is a '?'.
std::string sparkline(std::span<const double> values, std::size_t columns, bool utf8);

}  // namespace lockring::app
