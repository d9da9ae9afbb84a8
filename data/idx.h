// IDX files, the format of MNIST and its successors: big-endian magic 00 00 TYPE RANK, then RANK 32-bit sizes, then the
// elements, row-major. We read unsigned bytes (TYPE 08), plain or gzip, and believe nothing: sizes are compared with
// the bytes that are there before memory is taken.
#pragma once

#include "core/tensor.h"
#include "data/byte_reader.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <vector>

namespace lockring::data {

// Told now and then how many bytes are done, and of how many. What it throws stops the work.
using ByteProgress = std::function<void(std::int64_t done, std::int64_t total)>;

// An IDX file read from its start to its end, for files that need not fit into memory. One thread at a time. Every
// function throws Error{data} as read_idx does.
class IdxReader {
 public:
  // Reads the header.
  explicit IdxReader(const std::filesystem::path& path);

  const Shape& shape() const { return shape_; }
  bool compressed() const { return reader_.compressed(); }
  // Bytes given so far, decompressed, the header's included.
  std::int64_t offset() const { return reader_.offset(); }
  // The next elements; asking for more than there are left is a bug.
  void read(std::span<std::uint8_t> elements);
  // When all elements are read: nothing may follow, and gzip data must be whole.
  void finish();

 private:
  ByteReader reader_;
  Shape shape_;
};

// A u8 tensor of the sizes in the file. Throws Error{data} naming file, offset, what was expected and what was found
// when the file is missing, truncated, damaged, too long, empty of elements, or something else than IDX bytes.
Tensor read_idx(const std::filesystem::path& path, const ByteProgress& progress = {});

// The header of an IDX file of unsigned bytes with these sizes.
std::vector<std::byte> idx_header(const Shape& shape);

}  // namespace lockring::data
