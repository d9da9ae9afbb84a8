// IDX files, plain and gzip. What is read without complaint and written again is the same.
#include "data/idx.h"

#include "tests/fuzz/fuzz.h"

#include <algorithm>
#include <array>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace lockring;
  const std::array parts{fuzz::text_of(bytes, size)};
  fuzz::read_or_refuse(ErrorCode::data, [&] {
    const std::filesystem::path& path = fuzz::memory_file(parts);
    const Tensor values = data::read_idx(path);
    const std::vector<std::byte> header = data::idx_header(values.shape());
    const bool compressed = size >= 2 && bytes[0] == 0x1f && bytes[1] == 0x8b;
    if (compressed) return;
    fuzz::expect(header.size() + static_cast<std::size_t>(values.elements()) == size, "every byte is read");
    fuzz::expect(std::ranges::equal(std::as_bytes(std::span(bytes, header.size())), header), "the header comes back");
  });
  return 0;
}
