#include "core/text.h"

#include <algorithm>
#include <vector>

namespace lockring {
namespace {

// Insertions, deletions, replacements and swaps of neighbours (optimal string alignment distance).
std::size_t edits(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> table(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) {
    for (std::size_t j = 0; j <= b.size(); ++j) {
      std::size_t& fewest = table[i][j] = std::max(i, j);
      if (i == 0 || j == 0) continue;
      const std::size_t replace = table[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      fewest = std::min({replace, table[i - 1][j] + 1, table[i][j - 1] + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        fewest = std::min(fewest, table[i - 2][j - 2] + 1);
    }
  }
  return table.back().back();
}

}  // namespace

std::string nearest(std::string_view word, std::span<const std::string> candidates) {
  std::string best;
  std::size_t fewest = std::max<std::size_t>(1, word.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    const std::size_t distance = edits(word, candidate);
    if (distance < fewest) {
      fewest = distance;
      best = candidate;
    }
  }
  return best;
}

std::string did_you_mean(std::string_view word, std::span<const std::string> candidates) {
  const std::string guess = nearest(word, candidates);
  return guess.empty() ? "" : " (did you mean '" + guess + "'?)";
}

std::string joined(std::span<const std::string> words, std::string_view separator) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0) text += separator;
    text += words[i];
  }
  return text;
}

}  // namespace lockring
