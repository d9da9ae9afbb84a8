#include "data/tar.h"

#include "core/error.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>

namespace lockring::data {
namespace {

constexpr std::int64_t kMostBytes = (std::int64_t{1} << 33) - 1;  // eleven octal digits

struct Field {
  std::size_t begin = 0;
  std::size_t size = 0;
};
constexpr Field kName{0, kLongestTarName};
constexpr Field kMode{100, 8};
constexpr Field kUser{108, 8};
constexpr Field kGroup{116, 8};
constexpr Field kSize{124, 12};
constexpr Field kTime{136, 12};
constexpr Field kChecksum{148, 8};
constexpr Field kType{156, 1};
constexpr Field kMagic{257, 6};
constexpr Field kVersion{263, 2};
constexpr Field kPrefix{345, kLongestTarFolder};

using Header = std::array<char, kTarBlock>;

void put(Header& header, Field field, std::string_view text) {
  std::memcpy(header.data() + field.begin, text.data(), std::min(text.size(), field.size));
}

// Octal digits and a zero byte.
void put_number(Header& header, Field field, std::int64_t number) {
  put(header, field, fmt::format("{:0{}o}", number, field.size - 1));
}

std::string text_of(const Header& header, Field field) {
  const char* begin = header.data() + field.begin;
  return {begin, strnlen(begin, field.size)};
}

// -1 if the field is not a number.
std::int64_t number_of(const Header& header, Field field) {
  std::int64_t number = 0;
  std::string text = text_of(header, field);
  text.erase(text.find_last_not_of(' ') + 1);
  for (const char digit : text) {
    if (digit < '0' || digit > '7') return -1;
    number = number * 8 + (digit - '0');
  }
  return text.empty() ? -1 : number;
}

// The sum of all bytes, those of the checksum itself counted as spaces.
std::int64_t checksum(Header header) {
  std::fill_n(header.data() + kChecksum.begin, kChecksum.size, ' ');
  std::int64_t sum = 0;
  for (const char byte : header) sum += static_cast<unsigned char>(byte);
  return sum;
}

}  // namespace

std::string tar_header(std::string_view folder, std::string_view name, std::int64_t bytes) {
  check(folder.size() <= kLongestTarFolder && !name.empty() && name.size() <= kLongestTarName, ErrorCode::data,
        "{}/{}: the name is too long for a tar archive: expected at most {} and {} bytes", folder, name,
        kLongestTarFolder, kLongestTarName);
  check(bytes <= kMostBytes, ErrorCode::data, "{}/{}: expected at most {} bytes, found {}", folder, name, kMostBytes,
        bytes);
  Header header{};
  put(header, kName, name);
  put_number(header, kMode, 0644);
  put_number(header, kUser, 0);
  put_number(header, kGroup, 0);
  put_number(header, kSize, bytes);
  put_number(header, kTime, 0);
  put(header, kType, "0");
  put(header, kMagic, "ustar");
  put(header, kVersion, "00");
  put(header, kPrefix, folder);
  // Six digits, a zero byte and a space.
  put(header, kChecksum, fmt::format("{:06o}", checksum(header)));
  header[kChecksum.begin + 7] = ' ';
  return {header.data(), header.size()};
}

std::int64_t tar_padding(std::int64_t bytes) { return (kTarBlock - bytes % kTarBlock) % kTarBlock; }

std::vector<TarEntry> list_tar(const RandomFile& file) {
  std::vector<TarEntry> entries;
  const std::string path = file.path().string();
  for (std::int64_t at = 0;;) {
    Header header;
    file.read(at, std::as_writable_bytes(std::span(header)));
    if (std::ranges::all_of(header, [](char byte) { return byte == 0; })) return entries;
    check(text_of(header, kMagic) == "ustar" && number_of(header, kChecksum) == checksum(header), ErrorCode::data,
          "{}: at byte {}: expected the header of a file in a tar archive, found something else", path, at);
    const std::int64_t bytes = number_of(header, kSize);
    check(text_of(header, kType) == "0" && bytes >= 0, ErrorCode::data,
          "{}: at byte {}: expected a plain file, found an entry of type '{}'", path, at, text_of(header, kType));
    const std::string folder = text_of(header, kPrefix);
    entries.push_back({(folder.empty() ? "" : folder + "/") + text_of(header, kName), at + kTarBlock, bytes});
    at += kTarBlock + bytes + tar_padding(bytes);
    check(at <= file.size(), ErrorCode::data, "{}: truncated: {} ends at byte {}, the archive at {}", path,
          entries.back().name, at, file.size());
  }
}

}  // namespace lockring::data
