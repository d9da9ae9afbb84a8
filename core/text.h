// Small text helpers for messages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace lockring {

// The candidate nearest to `word` by edits, or "" when none is near enough to be a likely typo.
std::string nearest(std::string_view word, std::span<const std::string> candidates);
// " (did you mean 'x'?)", or "" when nothing is near: the end of a message about an unknown name.
std::string did_you_mean(std::string_view word, std::span<const std::string> candidates);
// How many bytes the character at the start of `text`, which is not empty, takes in UTF-8 (RFC 3629); 0 if there is
// none or it is a control character. Overlong forms and surrogates pass: nothing depends on them.
std::size_t character_bytes(std::string_view text);
// UTF-8 without control characters: fit for JSON, terminals and the lines of a file.
bool is_printable(std::string_view text);
// Any text made fit to be printed as a part of one line: what is not printable becomes \x1b, and of what is longer than
// anyone would read, beginning and end remain.
std::string printable(std::string_view text);
// "1 machine", "2 machines"
std::string counted(std::int64_t count, std::string_view noun);
// "a, b, c"
std::string joined(std::span<const std::string> words, std::string_view separator = ", ");

}  // namespace lockring
