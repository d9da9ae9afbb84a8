#include "tests/apps/captured_run.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace lockring::app {
namespace {

CapturedRun bench(std::vector<std::string> more) {
  more.insert(more.begin(), {"bench", "loader", "--seconds", "0.02"});
  return captured_run(more);
}

TEST(BenchLoader, MeasuresWithAndWithoutThreads) {
  for (const int threads : {0, 2}) {
    const CapturedRun run = bench({"--json", "--loader-threads", std::to_string(threads)});
    ASSERT_EQ(run.code, 0) << run.err;
    const nlohmann::json figures = nlohmann::json::parse(run.out);
    EXPECT_EQ(figures["threads"], threads + 1);
    EXPECT_EQ(figures["loader_threads"], threads);
    EXPECT_EQ(figures["augment"], "crop:2,flip");
    EXPECT_EQ(figures["image"], "28x28x1");
    EXPECT_EQ(figures["batch_size"], 128);
    EXPECT_GT(figures["images_per_second"], 0);
    EXPECT_NEAR(figures["images_per_second"].get<double>() * figures["ns_per_image"].get<double>(), 1e9, 1);
  }
  EXPECT_NE(bench({"--image", "9x31x3", "--augment", "rotate:5,mixup:0.3"}).out.find("images_per_second"),
            std::string::npos);
}

TEST(BenchLoader, RefusesWhatItCannotMeasure) {
  const auto refuse = [](const std::vector<std::string>& more, const std::string& part) {
    const CapturedRun run = bench(more);
    EXPECT_EQ(run.code, 2);
    EXPECT_EQ(run.out, "");
    EXPECT_NE(run.err.find(part), std::string::npos) << run.err;
  };
  for (const char* image : {"3x3", "3x3x", "0x3x3", "3x3x5", "-3x3x3", "3 x3x3", "3x3x3x3", "99999x9x1"})
    refuse({std::string("--image=") + image}, "--image: expected HEIGHTxWIDTHxCHANNELS");
  refuse({"--batch-size", "0"}, "--batch-size 0");
  refuse({"--image", "4096x4096x1", "--augment", "flip", "--batch-size", "17"}, "not within 1 and 16");
  refuse({"--augment", "resize:32"}, "no work of the loader");
  refuse({"--augment", "crop:28"}, "crop: expected a padding below");
  refuse({"--loader-threads", "-1"}, "--loader-threads");
}

}  // namespace
}  // namespace lockring::app
