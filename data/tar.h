// Tar archives of plain files, in the format ustar of POSIX.1-1988 (IEEE Std 1003.1, "pax", ustar Interchange Format):
// for each file a header of 512 bytes and its content, filled up with zeros to a multiple of 512; two blocks of zeros
// at the end. Every `tar` unpacks them, and a file lies in one piece, so that it can be read without the others.
#pragma once

#include "data/random_file.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lockring::data {

inline constexpr std::int64_t kTarBlock = 512;

// The longest name of a folder and of a file in it, in bytes.
inline constexpr std::size_t kLongestTarFolder = 155;
inline constexpr std::size_t kLongestTarName = 100;

// The header of a file of `bytes` bytes that belongs to nobody and was made at no time, so that equal content gives an
// equal archive. The folder may be empty. Throws Error{data} when a name is too long, or the file (8 GiB).
std::string tar_header(std::string_view folder, std::string_view name, std::int64_t bytes);
// The zeros that follow a content of `bytes` bytes.
std::int64_t tar_padding(std::int64_t bytes);
// The zeros at the end.
inline constexpr std::int64_t kTarEnd = 2 * kTarBlock;

struct TarEntry {
  std::string name;  // FOLDER/NAME
  std::int64_t offset = 0;
  std::int64_t bytes = 0;
};

// All files, in order. Throws Error{data} naming file and offset on anything but a whole archive of plain files.
std::vector<TarEntry> list_tar(const RandomFile& file);

}  // namespace lockring::data
