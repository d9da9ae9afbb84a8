// Small text helpers for messages.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace lockring {

// The candidate nearest to `word` by edits, or "" when none is near enough to be a likely typo.
std::string nearest(std::string_view word, std::span<const std::string> candidates);
// " (did you mean 'x'?)", or "" when nothing is near: the end of a message about an unknown name.
std::string did_you_mean(std::string_view word, std::span<const std::string> candidates);
// "a, b, c"
std::string joined(std::span<const std::string> words, std::string_view separator = ", ");

}  // namespace lockring
