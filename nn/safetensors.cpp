#include "nn/safetensors.h"

#include "core/error.h"
#include "core/files.h"
#include "nn/safetensors_header.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <fstream>

namespace lockring::nn {
namespace {

static_assert(std::endian::native == std::endian::little,
              "the format is little endian, and so is every machine we know");

constexpr std::int64_t kPrefixBytes = 8;

void read_bytes(std::ifstream& file, void* to, std::int64_t count) {
  file.read(static_cast<char*>(to), count);
  check(file.gcount() == count, ErrorCode::data, "expected {} more bytes, found {}", count, file.gcount());
}

std::int64_t size_of_file(const std::filesystem::path& path) {
  std::error_code error;
  const std::uintmax_t bytes = std::filesystem::file_size(path, error);
  check(!error, ErrorCode::data, "cannot be read: {}", error.message());
  return static_cast<std::int64_t>(bytes);
}

TensorFile read(const std::filesystem::path& path) {
  const std::int64_t file_bytes = size_of_file(path);
  std::ifstream file(path, std::ios::binary);
  check(file.is_open(), ErrorCode::data, "cannot be opened: {}", std::strerror(errno));

  std::uint64_t header_bytes = 0;
  read_bytes(file, &header_bytes, kPrefixBytes);
  const std::int64_t longest = std::min(kMaxHeaderBytes, file_bytes - kPrefixBytes);
  check(header_bytes <= static_cast<std::uint64_t>(longest), ErrorCode::data,
        "not a safetensors file, or cut short: a header of {} bytes is announced, at most {} are possible",
        header_bytes, longest);
  std::string text(header_bytes, '\0');
  read_bytes(file, text.data(), static_cast<std::int64_t>(header_bytes));
  SafetensorsHeader header =
      parse_safetensors_header(text, file_bytes - kPrefixBytes - static_cast<std::int64_t>(header_bytes));

  TensorFile content{.metadata = std::move(header.metadata), .tensors = {}};
  for (const TensorEntry& entry : header.tensors) {
    content.tensors.push_back({entry.name, Tensor::empty(entry.shape, entry.dtype)});
    read_bytes(file, content.tensors.back().tensor.raw(), entry.end - entry.begin);
  }
  return content;
}

}  // namespace

const Tensor* TensorFile::find(const std::string& name) const {
  const auto found = std::ranges::find(tensors, name, &NamedTensor::name);
  return found == tensors.end() ? nullptr : &found->tensor;
}

void write_safetensors(const std::filesystem::path& path, const TensorFile& content) {
  SafetensorsHeader header{.metadata = content.metadata, .tensors = {}};
  std::int64_t end = 0;
  for (const auto& [name, tensor] : content.tensors) {
    header.tensors.push_back({name, tensor.dtype(), tensor.shape(), end, end + tensor.bytes()});
    end += tensor.bytes();
  }
  const std::string text = format_safetensors_header(header);
  const std::array<std::uint64_t, 1> header_bytes{text.size()};

  AtomicFile file(path);
  file.write(std::as_bytes(std::span(header_bytes)));
  file.write(text);
  for (const auto& [name, tensor] : content.tensors)
    file.write({static_cast<const std::byte*>(tensor.raw()), static_cast<std::size_t>(tensor.bytes())});
  file.commit();
}

TensorFile read_safetensors(const std::filesystem::path& path) {
  try {
    return read(path);
  } catch (const Error& error) {
    fail(error.code(), "{}: {}", path.string(), error.what());
  }
}

}  // namespace lockring::nn
