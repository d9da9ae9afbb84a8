// IDX files, the format of MNIST and its successors: big-endian magic 00 00 TYPE RANK, then RANK 32-bit sizes, then the
// elements, row-major. We read unsigned bytes (TYPE 08), plain or gzip, and believe nothing: sizes are compared with
// the bytes that are there before memory is taken.
#pragma once

#include "core/tensor.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace lockring::data {

// Told now and then how many bytes are done, and of how many. What it throws stops the work.
using ByteProgress = std::function<void(std::int64_t done, std::int64_t total)>;

// A u8 tensor of the sizes in the file. Throws Error{data} naming file, offset, what was expected and what was found
// when the file is missing, truncated, damaged, too long, empty of elements, or something else than IDX bytes.
Tensor read_idx(const std::filesystem::path& path, const ByteProgress& progress = {});

// The header of an IDX file of unsigned bytes with these sizes.
std::vector<std::byte> idx_header(const Shape& shape);

}  // namespace lockring::data
