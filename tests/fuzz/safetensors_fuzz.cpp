// Safetensors files, and what a bundle says in its metadata. An even first byte means that the rest is a file; an odd
// one, that the rest is a header, in front of which its length belongs and behind which half as many bytes follow:
// mutations alone would seldom keep the length right.
#include "nn/bundle_info.h"
#include "nn/safetensors.h"
#include "tests/fuzz/fuzz.h"

#include <array>
#include <string>

namespace lockring::fuzz {
namespace {

const std::filesystem::path& file_of(int kind, std::string_view rest) {
  if (kind % 2 == 0) return memory_file(std::array{rest});
  std::string length(8, '\0');
  for (int i = 0; i < 8; ++i) length[i] = static_cast<char>(static_cast<std::uint64_t>(rest.size()) >> (8 * i));
  const std::string data(static_cast<std::size_t>(kind / 2), 'x');
  return memory_file(std::array<std::string_view, 3>{length, rest, data});
}

void read(int kind, std::string_view rest) {
  const nn::TensorFile file = nn::read_safetensors(file_of(kind, rest));
  std::size_t bytes = 0;
  for (const nn::NamedTensor& entry : file.tensors) {
    bytes += static_cast<std::size_t>(entry.tensor.bytes());
    expect(file.find(entry.name) == &entry.tensor, "names are unique");
  }
  expect(bytes <= rest.size() + static_cast<std::size_t>(kind / 2), "tensors lie apart within the file");
  const nn::BundleInfo info = nn::info_from(file.metadata);
  // A reader that keeps what it read; NaN metrics are not equal to themselves, their text is.
  expect(nn::to_metadata(nn::info_from(nn::to_metadata(info))) == nn::to_metadata(info), "a bundle's text comes back");
}

}  // namespace
}  // namespace lockring::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace lockring;
  if (size == 0) return 0;
  fuzz::read_or_refuse(ErrorCode::data, [&] { fuzz::read(bytes[0], fuzz::text_of(bytes + 1, size - 1)); });
  return 0;
}
