#include "tests/apps/small_training.h"

#include "core/files.h"
#include "core/rng.h"
#include "data/ingest.h"
#include "tests/data/small_files.h"

#include <algorithm>
#include <sstream>

namespace lockring::app {
namespace {

std::string idx_of(const Tensor& tensor, int rank) {
  std::string file = {0, 0, 8, static_cast<char>(rank)};
  for (int d = 0; d < rank; ++d)
    for (int shift = 24; shift >= 0; shift -= 8) file += static_cast<char>(tensor.size(d) >> shift);
  return file.append(reinterpret_cast<const char*>(tensor.raw()), tensor.elements());
}

}  // namespace

data::Split learnable_split(std::int64_t count, std::uint64_t seed) {
  Tensor images = Tensor::empty({count, kSmallImage, kSmallImage, 1}, DType::u8);
  Tensor labels = Tensor::empty({count}, DType::u8);
  Rng rng(seed, RngStream::test);
  std::uint8_t* pixel = images.data<std::uint8_t>();
  for (std::int64_t i = 0; i < count; ++i) {
    const auto label = static_cast<std::int64_t>(rng.below(10));
    labels.data<std::uint8_t>()[i] = static_cast<std::uint8_t>(label);
    for (std::int64_t place = 0; place < kSmallImage * kSmallImage; ++place) {
      const std::int64_t row = place / kSmallImage;
      const bool bright = row >= label + 3 && row < label + 6;
      *pixel++ = static_cast<std::uint8_t>(rng.below(bright ? 256 : 160));
    }
  }
  return {data::in_memory(images), labels};
}

TrainCommandTest::TrainCommandTest() {
  const data::Split train = learnable_split(600, 1);
  const data::Split test = learnable_split(100, 2);
  data::write_dataset(directory_ / "raw", {idx_of(train.images->copy(0, 600), 3), idx_of(train.labels, 1),
                                           idx_of(test.images->copy(0, 100), 3), idx_of(test.labels, 1)});
  data::ingest({.source = (directory_ / "raw").string(),
                .name = "small",
                .data_dir = directory_ / "store",
                .expect_digest = "",
                .progress = {},
                .notice = [](const std::string&) {}});
}

CapturedRun TrainCommandTest::train(const std::string& name, const std::vector<std::string>& more) const {
  std::vector<std::string> arguments = {"train", "--quiet"};
  const auto add = [&](const std::string& option, const std::string& value) {
    if (std::ranges::count(more, option) == 0) arguments.insert(arguments.end(), {option, value});
  };
  if (!name.empty()) add("--run-dir", folder(name).string());
  add("--dataset", "small");
  add("--data-dir", (directory_ / "store").string());
  add("--model", "mlp");
  add("--batch-size", "64");
  add("--epochs", "2");
  add("--replicas", "2");
  arguments.insert(arguments.end(), more.begin(), more.end());
  return captured_run(arguments);
}

void TrainCommandTest::train_well(const std::string& name, const std::vector<std::string>& more) const {
  const CapturedRun run = train(name, more);
  ASSERT_EQ(run.code, 0) << run.err;
  EXPECT_EQ(run.err, "");
}

void TrainCommandTest::expect_refused(const std::vector<std::string>& more, int code, const std::string& part,
                                      const char* file, int line) const {
  const testing::ScopedTrace trace(file, line, "refused");
  const CapturedRun run = train("refused", more);
  EXPECT_EQ(run.code, code) << run.err;
  EXPECT_EQ(run.out, "");
  EXPECT_NE(run.err.find(part), std::string::npos) << run.err;
  EXPECT_EQ(std::ranges::count(run.err, '\n'), 1) << run.err;
  EXPECT_FALSE(std::filesystem::exists(folder("refused")));
}

std::string TrainCommandTest::bytes(const std::string& name, const std::string& file) const {
  return read_file(folder(name) / file);
}

nlohmann::json TrainCommandTest::summary(const std::string& name) const {
  return nlohmann::json::parse(bytes(name, "summary.json"));
}

std::vector<nlohmann::json> TrainCommandTest::metrics(const std::string& name) const {
  std::vector<nlohmann::json> lines;
  std::istringstream text(bytes(name, "metrics.jsonl"));
  for (std::string line; std::getline(text, line);) lines.push_back(nlohmann::json::parse(line));
  return lines;
}

std::vector<nlohmann::json> TrainCommandTest::epochs(const std::string& name) const {
  std::vector<nlohmann::json> lines = metrics(name);
  for (nlohmann::json& line : lines)
    for (const char* key : {"images_per_second", "data_wait_fraction", "seconds", "resident_bytes"}) line.erase(key);
  return lines;
}

void TrainCommandTest::expect_same_results(const std::string& one, const std::string& other) const {
  for (const char* file : {"best.safetensors", "last.safetensors"})
    EXPECT_TRUE(bytes(one, file) == bytes(other, file)) << file << " of " << one << " and " << other;
  EXPECT_EQ(summary(one)["test_loss"], summary(other)["test_loss"]);
  EXPECT_EQ(epochs(one), epochs(other));
}

}  // namespace lockring::app
