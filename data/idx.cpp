#include "data/idx.h"

#include "core/error.h"
#include "data/byte_reader.h"

#include <algorithm>
#include <array>
#include <limits>
#include <span>

namespace lockring::data {
namespace {

// Bytes between two reports of progress.
constexpr std::int64_t kChunk = std::int64_t{4} << 20;
constexpr std::uint8_t kUnsignedByte = 0x08;

std::uint32_t big_endian(const std::byte* bytes) {
  std::uint32_t value = 0;
  for (int i = 0; i < 4; ++i) value = value << 8 | std::to_integer<std::uint32_t>(bytes[i]);
  return value;
}

// The rank that the magic states.
int read_magic(ByteReader& reader) {
  std::array<std::byte, 32> start{};
  const std::string file = reader.path().string();
  const auto count = static_cast<std::size_t>(reader.read(std::span(start).first(4)));
  const auto* magic = reinterpret_cast<const std::uint8_t*>(start.data());
  if (count < 4 || magic[0] != 0 || magic[1] != 0) {
    const auto more = static_cast<std::size_t>(reader.read(std::span(start).subspan(count)));
    fail(ErrorCode::data, "{}: at byte 0: expected the IDX magic 00 00 08, found {}", file,
         describe_content(std::span(start).first(count + more)));
  }
  check(magic[2] == kUnsignedByte, ErrorCode::data,
        "{}: at byte 2: expected IDX element type 08 (unsigned byte), found {:02x}", file, magic[2]);
  check(magic[3] >= 1 && magic[3] <= Shape::kMaxRank, ErrorCode::data,
        "{}: at byte 3: expected 1 to {} dimensions, found {}", file, Shape::kMaxRank, magic[3]);
  return magic[3];
}

// A size of zero is a mistake, too: there is nothing to train on.
Shape read_sizes(ByteReader& reader, int rank) {
  std::array<std::byte, 4 * Shape::kMaxRank> bytes{};
  const std::int64_t count = reader.read(std::span(bytes).first(static_cast<std::size_t>(4 * rank)));
  const std::string file = reader.path().string();
  check(count == 4 * rank, ErrorCode::data, "{}: truncated in the header: expected {} bytes, found {}", file,
        4 + 4 * rank, 4 + count);
  std::array<std::int64_t, Shape::kMaxRank> sizes{};
  std::int64_t elements = 1;
  for (int i = 0; i < rank; ++i) {
    sizes[i] = big_endian(bytes.data() + 4 * i);
    check(sizes[i] > 0, ErrorCode::data, "{}: at byte {}: dimension {} of {} has size 0", file, 4 + 4 * i, i + 1, rank);
    check(sizes[i] <= std::numeric_limits<std::int64_t>::max() / elements, ErrorCode::data,
          "{}: at byte {}: the sizes multiply beyond any file", file, 4 + 4 * i);
    elements *= sizes[i];
  }
  return Shape(std::span<const std::int64_t>(sizes.data(), static_cast<std::size_t>(rank)));
}

}  // namespace

IdxReader::IdxReader(const std::filesystem::path& path)
    : reader_(path), shape_(read_sizes(reader_, read_magic(reader_))) {
  // Before any memory is taken: a damaged size must not ask for terabytes.
  check(shape_.elements() <= reader_.most_bytes(), ErrorCode::data,
        "{}: truncated: the header states {} elements (sizes {}), the file can hold no more than {}", path.string(),
        shape_.elements(), to_string(shape_), reader_.most_bytes());
}

void IdxReader::read(std::span<std::uint8_t> elements) {
  const auto wanted = static_cast<std::int64_t>(elements.size());
  const std::int64_t count = reader_.read(std::as_writable_bytes(elements));
  check(count == wanted, ErrorCode::data, "{}: truncated: expected {} bytes (sizes {}), found {}",
        reader_.path().string(), 4 + 4 * shape_.rank() + shape_.elements(), to_string(shape_), reader_.offset());
}

// Asking for one byte more also makes the reader check the end of gzip data.
void IdxReader::finish() {
  std::byte more{};
  const std::int64_t end = reader_.offset();
  check(reader_.read(std::span(&more, 1)) == 0, ErrorCode::data,
        "{}: expected the end at byte {} (sizes {}), found more bytes", reader_.path().string(), end,
        to_string(shape_));
}

Tensor read_idx(const std::filesystem::path& path, const ByteProgress& progress) {
  IdxReader reader(path);
  const std::int64_t total = reader.shape().elements();
  Tensor values = Tensor::empty(reader.shape(), DType::u8);
  for (std::int64_t done = 0; done < total;) {
    const std::int64_t count = std::min(kChunk, total - done);
    reader.read(values.values<std::uint8_t>().subspan(static_cast<std::size_t>(done), static_cast<std::size_t>(count)));
    done += count;
    if (progress) progress(done, total);
  }
  reader.finish();
  return values;
}

std::vector<std::byte> idx_header(const Shape& shape) {
  std::vector<std::byte> bytes = {std::byte{0}, std::byte{0}, std::byte{kUnsignedByte},
                                  static_cast<std::byte>(shape.rank())};
  for (const std::int64_t size : shape)
    for (int shift = 24; shift >= 0; shift -= 8) bytes.push_back(static_cast<std::byte>(size >> shift & 0xff));
  return bytes;
}

}  // namespace lockring::data
