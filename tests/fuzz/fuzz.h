// What the fuzz targets share. libFuzzer calls LLVMFuzzerTestOneInput with one input after the other, from one thread;
// a crash, a report of a sanitizer, too much memory or time, and any exception but Error are findings.
#pragma once

#include "core/error.h"

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <span>
#include <string_view>

namespace lockring::fuzz {

inline std::string_view text_of(const std::uint8_t* bytes, std::size_t size) {
  return {reinterpret_cast<const char*>(bytes), size};
}

// A promise of the reader that the input made it break.
inline void expect(bool ok, const char* promise) {
  if (ok) return;
  std::fprintf(stderr, "broken promise: %s\n", promise);
  std::abort();
}

// Reads the input. An Error of this code is the right answer to a bad one.
template <class Read>
void read_or_refuse(ErrorCode code, const Read& read) {
  try {
    read();
  } catch (const Error& error) {
    expect(error.code() == code, error.what());
  }
}

// A file in memory for readers that take a path; each call replaces the content.
const std::filesystem::path& memory_file(std::span<const std::string_view> parts);

}  // namespace lockring::fuzz
