// Bundles made to harm, as a user meets them: every command that reads one says what is wrong in one line that any
// terminal may be given, and ends with exit code 3.
#include "core/files.h"
#include "tests/apps/small_bundle.h"
#include "tests/data/small_files.h"

#include <algorithm>
#include <limits>

namespace lockring::app {
namespace {

// A file of this header and this many bytes of data.
std::string file_of(const std::string& header, std::size_t data_bytes) {
  std::string length(8, '\0');
  for (int i = 0; i < 8; ++i) length[i] = static_cast<char>(header.size() >> (8 * i));
  return length + header + std::string(data_bytes, 'x');
}

void expect_one_line(const CapturedRun& run, const std::string& part) {
  EXPECT_EQ(run.code, 3) << run.err;
  EXPECT_EQ(run.out, "");
  EXPECT_NE(run.err.find(part), std::string::npos) << run.err;
  EXPECT_TRUE(run.err.starts_with("lockring: ") && run.err.ends_with('\n')) << run.err;
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
  EXPECT_EQ(std::ranges::count_if(run.err, is_control), 1) << run.err;
  EXPECT_LT(run.err.size(), 5000u);
}

class HostileBundleTest : public SmallBundleTest {
 protected:
  void expect_refused(const std::string& part, int line = __builtin_LINE()) const {
    const testing::ScopedTrace trace(__FILE__, line, "");
    expect_one_line(run("eval"), part);
    expect_one_line(run("predict", {"--test-samples", "0"}), part);
  }
  void expect_file_refused(const std::string& content, const std::string& part, int line = __builtin_LINE()) const {
    data::write(bundle_, content);
    expect_refused(part, line);
    const testing::ScopedTrace trace(__FILE__, line, "");
    const std::filesystem::path folder = directory_ / "run";
    expect_one_line(captured_run({"train", "--init-from", bundle_.string(), "--model", "mlp", "--dataset", "small",
                                  "--data-dir", (directory_ / "store").string(), "--run-dir", folder.string(),
                                  "--val-fraction", "0", "--replicas", "1", "--batch-size", "10"}),
                    part);
    EXPECT_FALSE(std::filesystem::exists(folder));
  }
  void expect_metadata_refused(const std::string& key, const std::string& value, const std::string& part,
                               int line = __builtin_LINE()) const {
    save();
    rewrite([&](nn::TensorFile& file) { file.metadata[key] = value; });
    expect_refused(part, line);
  }
};

TEST_F(HostileBundleTest, FilesThatLieAboutTheirLengths) {
  const std::string good = read_file(bundle_);
  expect_file_refused("", "expected 8 more bytes");
  expect_file_refused(std::string(8, '\xff') + good.substr(8), "a header of 18446744073709551615 bytes is announced");
  expect_file_refused(good.substr(0, good.size() / 2), "bytes of data follow the header");
  expect_file_refused(good + "x", "bytes of data follow the header");
  const auto tensor = [](const std::string& shape, const std::string& offsets) {
    return R"({"w":{"dtype":"F32","shape":)" + shape + R"(,"data_offsets":)" + offsets + "}}";
  };
  expect_file_refused(file_of(tensor("[4611686018427387904,4]", "[0,8]"), 8), "too large a shape");
  expect_file_refused(file_of(tensor("[2305843009213693951]", "[0,9223372036854775804]"), 8), "bytes of data follow");
  expect_file_refused(file_of(tensor("[-2]", "[0,8]"), 8), "is not a list of sizes");
  expect_file_refused(file_of(tensor("[NaN]", "[0,8]"), 8), "the header is not JSON");
}

TEST_F(HostileBundleTest, TensorsThatOverlapOrLeaveHoles) {
  const auto pair = [](const std::string& first, const std::string& second) {
    return R"({"a":{"dtype":"F32","shape":[1],"data_offsets":)" + first +
           R"(},"b":{"dtype":"F32","shape":[1],"data_offsets":)" + second + "}}";
  };
  expect_file_refused(file_of(pair("[0,4]", "[8,12]"), 12), R"("b" starts at byte 8 of the data; expected 4)");
  expect_file_refused(file_of(pair("[0,4]", "[2,6]"), 6), R"("b" starts at byte 2 of the data; expected 4)");
  expect_file_refused(file_of(R"({"a":{},"a":{}})", 0), R"(the header has "a" twice)");
  expect_file_refused(file_of("{\"a\":" + std::string(1'000'000, '[') + "}", 0), "nested too deeply");
  expect_file_refused(file_of("{\"\xff\":1}", 0), "not JSON");
  expect_file_refused(file_of(R"({"\u001b[2J\n":1})", 0), R"(tensor "\u001b[2J\n")");
}

TEST_F(HostileBundleTest, ParametersOfAnotherModel) {
  rewrite([](nn::TensorFile& file) { std::swap(file.tensors[0].name, file.tensors[2].name); });
  expect_refused("from another architecture: expected dense1.weight to be F32 [512, 30]");
  save();
  rewrite([](nn::TensorFile& file) { file.tensors.push_back({"one\nmore\x1b[2J", Tensor::zeros({1})}); });
  expect_refused("did not expect one\\x0amore\\x1b[2J");
}

TEST_F(HostileBundleTest, MetadataThatIsNotWhatItShouldBe) {
  const std::string clear = "\x1b[2J\n";
  expect_metadata_refused("architecture", "cnn", "the images are too small for this model");
  expect_metadata_refused("architecture", "mlp" + clear, "architecture is not printable text");
  expect_metadata_refused("transform", clear, "\\x1b[2J\\x0a");
  expect_metadata_refused("transform", std::string(3'000'000, 'x'), "bytes ... ");
  expect_metadata_refused("transform", std::string(3'000'000, ','), "found ''");
  expect_metadata_refused("transform", "resize:65536", "the model takes [6, 5, 1]");
  expect_metadata_refused("transform", "normalize:0:1e-44", "give numbers above");
  expect_metadata_refused("input.shape", "[1048576,1048576,1048576]", "expected golden.image to be U8");
  expect_metadata_refused("input.shape", "[6,-5,1]", "input.shape is not a list of sizes");
  expect_metadata_refused("mean", "[NaN]", "mean is not a list of numbers");
  expect_metadata_refused("classes", std::string(1'000'000, '['), "classes is not a list of names");
  expect_metadata_refused("classes", R"(["0","1","2","3","4","5","6","7","8","x\ny"])", "a name of printable UTF-8");
  expect_metadata_refused("data_digest", clear, "data_digest is not printable text");
}

TEST_F(HostileBundleTest, ParametersThatAreNotFinite) {
  rewrite([](nn::TensorFile& file) { file.tensors[0].tensor.data()[3] = std::numeric_limits<float>::quiet_NaN(); });
  expect_refused("its answer to the sample it holds differs");
}

}  // namespace
}  // namespace lockring::app
