#include "nn/safetensors.h"

#include "core/files.h"
#include "tests/support/errors.h"
#include "tests/support/temporary_directory.h"
#include "tests/support/tensors.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <fstream>
#include <iterator>
#include <limits>

namespace lockring::nn {
namespace {

TensorFile sample() {
  const std::uint8_t bytes[] = {0, 127, 255};
  const std::int64_t longs[] = {-1, std::numeric_limits<std::int64_t>::max()};
  const float nan = std::numeric_limits<float>::quiet_NaN();
  return {.metadata = {{"b", "line\nand \"quote\""}, {"a", "größe"}},
          .tensors = {{"second.weight", random_tensor({3, 2})},
                      {"first", Tensor::from({nan, -0.0F}, {2})},
                      {"scalar", Tensor::from({7}, Shape{})},
                      {"empty", Tensor::zeros({0, 5})},
                      {"longs", Tensor::from<std::int64_t>(longs, {2})},
                      {"bytes", Tensor::from<std::uint8_t>(bytes, {3, 1})}}};
}

// A file of this header and this many bytes of data.
std::string file_of(const std::string& header, std::size_t data_bytes = 0) {
  std::string text(8, '\0');
  for (int i = 0; i < 8; ++i) text[i] = static_cast<char>(static_cast<std::uint64_t>(header.size()) >> (8 * i));
  return text + header + std::string(data_bytes, 'x');
}

class SafetensorsTest : public testing::Test {
 protected:
  void expect_refused(const std::string& content, std::string_view part, int line = __builtin_LINE()) {
    std::ofstream(path_, std::ios::binary) << content;
    expect_error(
        ErrorCode::data, part, [&] { read_safetensors(path_); }, __FILE__, line);
    expect_error(
        ErrorCode::data, path_.string(), [&] { read_safetensors(path_); }, __FILE__, line);
  }

  TemporaryDirectory directory_;
  std::filesystem::path path_ = directory_ / "x.safetensors";
};

TEST_F(SafetensorsTest, ReadsBackWhatItWrote) {
  const TensorFile written = sample();
  write_safetensors(path_, written);
  const TensorFile read = read_safetensors(path_);
  EXPECT_EQ(read.metadata, written.metadata);
  ASSERT_EQ(read.tensors.size(), written.tensors.size());
  for (std::size_t i = 0; i < read.tensors.size(); ++i) {
    EXPECT_EQ(read.tensors[i].name, written.tensors[i].name);
    expect_same_bits(read.tensors[i].tensor, written.tensors[i].tensor, written.tensors[i].name);
  }
  EXPECT_EQ(read.find("first")->elements(), 2);
  EXPECT_EQ(read.find("third"), nullptr);
}

TEST_F(SafetensorsTest, WritesTheFormatToTheByte) {
  write_safetensors(path_, {.metadata = {{"b", "2"}, {"a", "1"}},
                            .tensors = {{"w", Tensor::from({1}, {1})}, {"v", Tensor::zeros({2, 0})}}});
  const std::string header =
      R"({"__metadata__":{"a":"1","b":"2"},"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
      R"("v":{"dtype":"F32","shape":[2,0],"data_offsets":[4,4]}})";
  const std::string padded = header + std::string((8 - header.size() % 8) % 8, ' ');
  EXPECT_EQ(read_file(path_), file_of(padded) + std::string("\0\0\x80\x3f", 4));
  EXPECT_EQ(padded.size() % 8, 0);
}

TEST_F(SafetensorsTest, ReadsFilesOfOthers) {
  // Tensors named in another order than they lie, an odd header, a shape that comes last.
  write_file(path_, file_of(R"({ "b":{"data_offsets":[4,6],"dtype":"BF16","shape":[1]},)"
                            R"("a" : {"dtype":"F32","data_offsets":[0,4],"shape":[]}} )",
                            6));
  const TensorFile read = read_safetensors(path_);
  ASSERT_EQ(read.tensors.size(), 2);
  EXPECT_EQ(read.tensors[0].name, "a");
  EXPECT_EQ(read.tensors[1].tensor.dtype(), DType::bf16);
  write_file(path_, file_of("{}"));
  EXPECT_TRUE(read_safetensors(path_).tensors.empty());
}

TEST_F(SafetensorsTest, RefusesWhatIsNoFile) {
  expect_error(ErrorCode::data, "No such file", [&] { read_safetensors(path_); });
  expect_error(ErrorCode::data, "directory", [&] { read_safetensors(directory_.path()); });
}

TEST_F(SafetensorsTest, RefusesWrongLengths) {
  expect_refused("", "expected 8 more bytes, found 0");
  expect_refused("1234567", "expected 8 more bytes, found 7");
  expect_refused("<!DOCTYPE html><html></html>", "not a safetensors file");
  expect_refused(std::string(8, '\xff') + "{}", "not a safetensors file");
  expect_refused(std::string("\x03\0\0\0\0\0\0\0{}", 10), "a header of 3 bytes is announced, at most 2");
  expect_refused(std::string(8, '\0'), "brace");
  expect_refused(file_of("{}", 1), "the tensors take 0 bytes, but 1 bytes of data follow");
}

TEST_F(SafetensorsTest, RefusesHeadersThatAreNotStrictJson) {
  expect_refused(file_of(" {}"), "start with a brace");
  expect_refused(file_of("{}\n"), "end with a brace");
  expect_refused(file_of(std::string("{}\0}", 4)), "end with a brace");
  expect_refused(file_of("{}{}"), "not JSON: unexpected text at byte 3");
  expect_refused(file_of("{\"a\xff\":1}"), "not JSON");
  expect_refused(file_of(R"({"a":1e999})"), "too large");
  expect_refused(file_of(R"({"a":)" + std::string(100'000, '[') + "}"), "nested too deeply");
  expect_refused(file_of(R"({"__metadata__":{"a":"1","a":"1"}})"), R"(has "a" twice)");
  expect_refused(file_of(R"({"__metadata__":{},"__metadata__":{}})"), R"(has "__metadata__" twice)");
  expect_refused(file_of(R"({"__metadata__":{"a":1}})"), R"(metadata "a" is not text)");
  expect_refused(file_of(R"({"__metadata__":[]})"), "metadata is not an object");
}

TEST_F(SafetensorsTest, RefusesTensorsThatAreNotWhatTheySay) {
  const auto with = [](const std::string& dtype, const std::string& shape, const std::string& offsets) {
    return file_of(R"({"w":{"dtype":)" + dtype + R"(,"shape":)" + shape + R"(,"data_offsets":)" + offsets + "}}", 8);
  };
  const std::string f32 = R"("F32")";
  expect_refused(with(R"("F64")", "[1]", "[0,8]"), R"(dtype "F64")");
  expect_refused(with(R"("f32")", "[2]", "[0,8]"), R"(dtype "f32")");
  expect_refused(with("32", "[2]", "[0,8]"), "dtype");
  for (const char* shape : {"2", "[2.0]", "[-2]", "[\"2\"]", "{}", "[18446744073709551615]", "[1e1]"})
    expect_refused(with(f32, shape, "[0,8]"), "shape");
  expect_refused(with(f32, "[1,1,1,1,1,1,2]", "[0,8]"), "7 dimensions");
  expect_refused(with(f32, "[4611686018427387904,4]", "[0,8]"), "too large a shape");  // 0 bytes, modulo 2^64
  expect_refused(with(f32, "[3]", "[0,8]"), "needs 12 bytes, but its data_offsets are [0, 8]");
  for (const char* offsets : {"8", "[0]", "[0,8,8]", "[0,-8]", "[0,8.0]", "[null,8]"})
    expect_refused(with(f32, "[2]", offsets), "data_offsets");
  expect_refused(with(f32, "[2]", "[8,0]"), "data_offsets are [8, 0]");
  expect_refused(with(f32, "[2]", "[9223372036854775800,9223372036854775807]"), "needs 8 bytes");
  expect_refused(file_of(R"({"w":{"dtype":"F32","shape":[2]}})", 8), "just dtype, shape");
  expect_refused(file_of(R"({"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8],"x":1}})", 8), "just dtype, shape");
  expect_refused(file_of(R"({"w":3})"), "just dtype, shape");
  expect_refused(file_of(R"({"w\u001b[2J":3})"), R"("w\u001b[2J")");  // nothing that a terminal would obey
}

TEST_F(SafetensorsTest, RefusesHolesAndOverlaps) {
  const auto at = [](const std::string& a, const std::string& b, std::size_t bytes) {
    return file_of(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":)" + a +
                       R"(},"b":{"dtype":"F32","shape":[1],"data_offsets":)" + b + "}}",
                   bytes);
  };
  EXPECT_NO_THROW((write_file(path_, at("[4,8]", "[0,4]", 8)), read_safetensors(path_)));
  expect_refused(at("[0,4]", "[5,9]", 9), R"("b" starts at byte 5 of the data; expected 4)");
  expect_refused(at("[0,4]", "[3,7]", 7), "expected 4");
  expect_refused(at("[0,4]", "[0,4]", 4), "expected 4");
  expect_refused(at("[1,5]", "[5,9]", 9), "expected 0");
  expect_refused(at("[0,4]", "[4,8]", 7), "take 8 bytes, but 7");
  expect_refused(at("[0,4]", "[4,8]", 9), "take 8 bytes, but 9");
  expect_refused(file_of(R"({"a":{"dtype":"F32","shape":[0],"data_offsets":[2,2]},)"
                         R"("b":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})",
                         4),
                 "expected");
}

// Whatever byte of a file changes or wherever it ends, reading gives tensors or an Error{data}, nothing else.
TEST_F(SafetensorsTest, SurvivesEveryChangedByteAndEveryCut) {
  write_safetensors(path_, sample());
  const std::string good = read_file(path_);
  int refused = 0;
  std::fstream file(path_, std::ios::binary | std::ios::in | std::ios::out);
  const auto put = [&](std::size_t at, char byte) {
    file.seekp(static_cast<std::streamoff>(at));
    file.put(byte).flush();
  };
  for (std::size_t i = 0; i < good.size(); ++i) {
    for (const int flip : {0x01, 0x04, 0x20, 0x80}) {
      put(i, static_cast<char>(good[i] ^ flip));
      try {
        EXPECT_EQ(read_safetensors(path_).tensors.size(), sample().tensors.size()) << "byte " << i << " flip " << flip;
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::data) << error.what();
        ++refused;
      }
    }
    put(i, good[i]);
  }
  EXPECT_GT(refused, 500);
  for (std::size_t length = 0; length < good.size(); ++length) {
    std::filesystem::resize_file(path_, good.size() - length);
    if (length > 0) expect_error(ErrorCode::data, path_.string(), [&] { read_safetensors(path_); });
  }
}

TEST_F(SafetensorsTest, RefusesToWriteANameTwice) {
  const Tensor w = Tensor::zeros({1});
  expect_error(ErrorCode::usage, "'w'", [&] {
    write_safetensors(path_, {.metadata = {}, .tensors = {{"w", w}, {"w", w}}});
  });
  expect_error(ErrorCode::usage, "'__metadata__'", [&] {
    write_safetensors(path_, {.metadata = {}, .tensors = {{"__metadata__", w}}});
  });
  EXPECT_TRUE(std::filesystem::is_empty(directory_.path()));
}

TEST_F(SafetensorsTest, MendsTextThatIsNotUtf8) {
  write_safetensors(path_, {.metadata = {{"class", "caf\xe9"}}, .tensors = {}});
  EXPECT_EQ(read_safetensors(path_).metadata.at("class"), "caf\xef\xbf\xbd");
}

// A full disk, in effect: the file may not grow beyond a limit.
TEST_F(SafetensorsTest, AWriteThatFailsKeepsTheOldFile) {
  write_safetensors(path_, sample());
  const std::string before = read_file(path_);
  rlimit unlimited{};
  getrlimit(RLIMIT_FSIZE, &unlimited);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{.rlim_cur = 4096, .rlim_max = unlimited.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  expect_error(ErrorCode::data, path_.string(), [&] {
    write_safetensors(path_, {.metadata = {}, .tensors = {{"w", Tensor::zeros({5000})}}});
  });
  setrlimit(RLIMIT_FSIZE, &unlimited);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(read_file(path_), before);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(directory_.path()), {}), 1);
}

}  // namespace
}  // namespace lockring::nn
