#include "data/idx.h"

#include "core/files.h"
#include "tests/data/small_files.h"
#include "tests/support/errors.h"
#include "tests/support/temporary_directory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

namespace lockring::data {
namespace {

class IdxTest : public testing::Test {
 protected:
  Tensor read(std::string_view content) {
    write(file_, content);
    return read_idx(file_);
  }
  // Expects an Error{data} that names the file and says `part`.
  void expect_bad(std::string_view content, std::string_view part) {
    write(file_, content);
    expect_error(ErrorCode::data, part, [&] { read_idx(file_); });
    expect_error(ErrorCode::data, file_.string(), [&] { read_idx(file_); });
  }

  TemporaryDirectory folder_;
  std::filesystem::path file_ = folder_ / "images";
};

void expect_counting(const Tensor& values, const Shape& shape) {
  ASSERT_EQ(values.shape(), shape);
  ASSERT_EQ(values.dtype(), DType::u8);
  for (std::int64_t i = 0; i < values.elements(); ++i) ASSERT_EQ(values.data<std::uint8_t>()[i], i % 256);
}

TEST_F(IdxTest, ReadsPlainAndGzipWhateverTheName) {
  const std::string content = idx_file({3, 10, 10});
  expect_counting(read(content), {3, 10, 10});
  expect_counting(read(gzip(content)), {3, 10, 10});
  file_ = folder_ / "plain.gz";
  expect_counting(read(content), {3, 10, 10});
}

TEST_F(IdxTest, ReadsOneElementAndFourDimensions) {
  expect_counting(read(idx_file({1})), {1});
  expect_counting(read(idx_file({2, 3, 4, 3})), {2, 3, 4, 3});
}

TEST_F(IdxTest, ReadsGzipOfSeveralMembers) {
  const std::string content = idx_file({600});
  expect_counting(read(gzip(content.substr(0, 5)) + gzip("") + gzip(content.substr(5))), {600});
}

TEST_F(IdxTest, HeaderIsWhatWasRead) {
  const std::vector<std::byte> header = idx_header({60000, 28, 28});
  const std::string expected("\0\0\x08\x03\0\0\xea\x60\0\0\0\x1c\0\0\0\x1c", 16);
  EXPECT_TRUE(std::ranges::equal(header, std::as_bytes(std::span(expected))));
}

TEST_F(IdxTest, ReportsProgressToTheEnd) {
  write(file_, idx_file({100}));
  std::int64_t last = 0;
  read_idx(file_, [&](std::int64_t done, std::int64_t total) {
    EXPECT_EQ(total, 100);
    last = done;
  });
  EXPECT_EQ(last, 100);
}

TEST_F(IdxTest, RejectsEveryTruncation) {
  const std::string plain = idx_file({4, 3, 2});
  const std::string compressed = gzip(plain);
  for (std::size_t size = 0; size < plain.size(); ++size) expect_bad(plain.substr(0, size), "");
  for (std::size_t size = 0; size < compressed.size(); ++size) expect_bad(compressed.substr(0, size), "");
  expect_bad(plain.substr(0, plain.size() - 1), "truncated: expected 40 bytes (sizes [4, 3, 2]), found 39");
  expect_bad(plain.substr(0, 10), "truncated in the header: expected 16 bytes, found 10");
  expect_bad(compressed.substr(0, compressed.size() - 1), "the file is truncated");
}

// A flipped bit either is seen or touches what does not matter, the name or time in the gzip header.
TEST_F(IdxTest, FlippedBitsOfGzipNeverChangeTheContent) {
  const std::string compressed = gzip(idx_file({5, 5}));
  int seen = 0;
  for (std::size_t bit = 0; bit < compressed.size() * 8; ++bit) {
    std::string damaged = compressed;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << bit % 8));
    std::optional<Tensor> values;
    try {
      values = read(damaged);
    } catch (const Error& error) {
      EXPECT_EQ(exit_code(error.code()), exit_code(ErrorCode::data));
      ++seen;
    }
    if (values) expect_counting(*values, {5, 5});
  }
  EXPECT_GT(seen, static_cast<int>(compressed.size() - 10) * 8);
}

TEST_F(IdxTest, RejectsBytesBehindTheEnd) {
  const std::string content = idx_file({4, 3});
  expect_bad(content + "x", "expected the end at byte 24 (sizes [4, 3]), found more bytes");
  expect_bad(gzip(content + "x"), "expected the end at byte 24");
  expect_bad(gzip(content) + "x", "found more bytes after the gzip data");
  expect_bad(gzip(content) + gzip("x"), "expected the end at byte 24");
}

TEST_F(IdxTest, RejectsHeadersThatLie) {
  expect_bad(idx_file({4, 0, 3}), "at byte 8: dimension 2 of 3 has size 0");
  expect_bad(std::string("\0\0\x08\0", 4), "at byte 3: expected 1 to 6 dimensions, found 0");
  expect_bad(std::string("\0\0\x08\x07", 4) + std::string(28, '\1'), "at byte 3: expected 1 to 6 dimensions, found 7");
  expect_bad(std::string("\0\0\x0d\1\0\0\0\1\0\0\0\0", 12), "at byte 2: expected IDX element type 08");
  const std::string huge = std::string("\0\0\x08\x03", 4) + std::string(12, '\xff');
  expect_bad(huge, "multiply beyond any file");
  // Terabytes are refused before memory is asked for, compressed or not.
  const std::string large = std::string("\0\0\x08\x02\0\x10\0\0\0\x10\0\0", 12) + "data";
  expect_bad(large, "truncated: the header states 1099511627776 elements");
  expect_bad(gzip(large), "truncated: the header states 1099511627776 elements");
}

TEST_F(IdxTest, SaysWhatWasFoundInstead) {
  expect_bad("", "found an empty file");
  expect_bad("<!DOCTYPE html><html><body>Not found</body></html>",
             "at byte 0: expected the IDX magic 00 00 08, found an HTML");
  expect_bad("\n <HTML lang=en>", "an HTML page");
  expect_bad(gzip("<html></html>"), "an HTML page");
  expect_bad("<?xml version='1.0'?><Error/>", "an XML or HTML page");
  expect_bad("PK\x03\x04zip", "a zip archive");
  expect_bad("version https://git-lfs.github.com/spec/v1\noid", "a Git LFS pointer");
  expect_bad(gzip(gzip(idx_file({3}))), "gzip data inside gzip data");
  expect_bad("\x89PNG\r\n", "found bytes 89 50 4e 47");
}

TEST_F(IdxTest, RejectsWhatIsNoFile) {
  expect_error(ErrorCode::data, "No such file", [&] { read_idx(folder_ / "missing"); });
  expect_error(ErrorCode::data, "expected a file", [&] { read_idx(folder_.path()); });
}

}  // namespace
}  // namespace lockring::data
