#include "core/text.h"

#include <fmt/format.h>

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
    // A word may be as long as a file.
    if (word.size() >= candidate.size() + fewest) continue;
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

std::size_t character_bytes(std::string_view text) {
  const auto first = static_cast<unsigned char>(text.front());
  if (first < 0x20 || first == 0x7f) return 0;
  if (first < 0x80) return 1;
  const std::size_t bytes = first >= 0xf5 ? 0 : first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc2 ? 2 : 0;
  if (bytes == 0 || bytes > text.size()) return 0;
  for (const char more : text.substr(1, bytes - 1))
    if ((static_cast<unsigned char>(more) & 0xc0) != 0x80) return 0;
  // Control characters of the second kind: some terminals obey them.
  return first == 0xc2 && static_cast<unsigned char>(text[1]) < 0xa0 ? 0 : bytes;
}

bool is_printable(std::string_view text) {
  while (!text.empty()) {
    const std::size_t bytes = character_bytes(text);
    if (bytes == 0) return false;
    text.remove_prefix(bytes);
  }
  return true;
}

std::string printable(std::string_view text) {
  constexpr std::size_t kMost = 2000;
  if (text.size() > kMost)
    return fmt::format("{} ... {} bytes ... {}", printable(text.substr(0, kMost / 2)), text.size() - kMost,
                       printable(text.substr(text.size() - kMost / 2)));
  std::string line;
  while (!text.empty()) {
    const std::size_t bytes = character_bytes(text);
    if (bytes == 0)
      line += fmt::format("\\x{:02x}", static_cast<unsigned char>(text.front()));
    else
      line += text.substr(0, bytes);
    text.remove_prefix(std::max<std::size_t>(bytes, 1));
  }
  return line;
}

std::string counted(std::int64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
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
