#include "tests/data/small_files.h"

#include "core/error.h"
#include "core/files.h"

#include <zlib.h>

#include <fstream>

namespace lockring::data {

std::string idx_file(const std::vector<std::uint32_t>& sizes, int first, int step) {
  std::string file = {0, 0, 8, static_cast<char>(sizes.size())};
  std::uint32_t count = 1;
  for (const std::uint32_t size : sizes) {
    for (int shift = 24; shift >= 0; shift -= 8) file += static_cast<char>(size >> shift);
    count *= size;
  }
  for (std::uint32_t i = 0; i < count; ++i) file += static_cast<char>(first + static_cast<int>(i) * step);
  return file;
}

std::string label_file(std::uint32_t count) {
  std::string file = idx_file({count}, 0, 0);
  for (std::uint32_t i = 0; i < count; ++i) file[8 + i] = static_cast<char>(i % 10);
  return file;
}

std::string gzip(std::string_view content) {
  z_stream stream{};
  deflateInit2(&stream, 6, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
  std::string result(deflateBound(&stream, content.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(content.data()));
  stream.avail_in = static_cast<uInt>(content.size());
  stream.next_out = reinterpret_cast<Bytef*>(result.data());
  stream.avail_out = static_cast<uInt>(result.size());
  check(deflate(&stream, Z_FINISH) == Z_STREAM_END, ErrorCode::other, "deflate");
  result.resize(stream.total_out);
  deflateEnd(&stream);
  return result;
}

void write(const std::filesystem::path& path, std::string_view content) {
  std::ofstream(path, std::ios::binary) << content;
}

void flip_bit(const std::filesystem::path& path, std::size_t byte, int bit) {
  std::string content = read_file(path);
  content.at(byte) = static_cast<char>(content[byte] ^ (1 << bit));
  write(path, content);
}

std::vector<std::string> small_dataset(int variant) {
  return {idx_file({30, 6, 5}, variant, 7), label_file(30), idx_file({20, 6, 5}, variant, 3), label_file(20)};
}

std::vector<std::string> labelled_dataset(const std::vector<std::int64_t>& train,
                                          const std::vector<std::int64_t>& test) {
  std::vector<std::string> files;
  for (const auto& counts : {train, test}) {
    std::string labels;
    for (std::size_t label = 0; label < counts.size(); ++label)
      labels.append(static_cast<std::size_t>(counts[label]), static_cast<char>(label));
    const auto count = static_cast<std::uint32_t>(labels.size());
    files.push_back(idx_file({count, 1, 1}));
    files.push_back(idx_file({count}).substr(0, 8) + labels);
  }
  return files;
}

void write_dataset(const std::filesystem::path& folder, const std::vector<std::string>& files, bool compressed) {
  std::filesystem::create_directories(folder);
  for (std::size_t i = 0; i < files.size(); ++i) {
    const std::string name = std::string(kFileNames[i]) + (compressed ? ".gz" : "");
    write(folder / name, compressed ? gzip(files[i]) : files[i]);
  }
}

}  // namespace lockring::data
