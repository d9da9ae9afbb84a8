// `lockring simulate` from a calibration, and from what it measures itself.
#include "apps/cluster/calibration.h"
#include "core/files.h"
#include "tests/apps/captured_run.h"
#include "tests/support/temporary_directory.h"

#include <nlohmann/json.hpp>

namespace lockring::app {
namespace {

using Json = nlohmann::json;

class SimulateTest : public testing::Test {
 protected:
  // 1 us an image and 10 us beside; 1 MB of parameters; 10 us and 1 GB/s between hosts.
  SimulateTest() {
    Calibration calibration;
    calibration.cost = {.model = "cnn",
                        .optimizer = "adam",
                        .bytes = 1000000,
                        .compute = {{10, 20e-6}, {110, 120e-6}},
                        .backward_share = 0.6,
                        .update_seconds = 100e-6,
                        .meeting_seconds = 1e-6,
                        .memory_seconds_per_byte = 1e-11,
                        .latency_seconds = 10e-6,
                        .link_seconds_per_byte = 1e-9};
    write_file(directory_ / "cluster.json", to_text(calibration));
  }
  Json simulate(std::vector<std::string> more) const {
    more.insert(more.begin(), {"simulate", "--calibration", directory_ / "cluster.json", "--json"});
    const CapturedRun run = captured_run(more);
    EXPECT_EQ(run.code, 0) << run.err;
    return run.code == 0 ? Json::parse(run.out) : Json();
  }

  TemporaryDirectory directory_;
};

TEST_F(SimulateTest, PredictsAStepFromTheCalibration) {
  const Json rows = simulate({"--ranks", "4", "--batch-size", "400", "--allreduce", "ring", "--bucket-bytes", "0"});
  ASSERT_EQ(rows.size(), 3);
  EXPECT_EQ(rows[0]["ranks"], 1);
  EXPECT_NEAR(rows[0]["step_us"], 110 + 100, 1e-6);
  EXPECT_NEAR(rows[0]["efficiency"], 1, 1e-9);
  const Json& four = rows[2];
  EXPECT_EQ(four["ranks"], 4);
  EXPECT_EQ(four["hosts"], 4);
  EXPECT_EQ(four["images_per_replica"], 100);
  const double exchange = 6 * 10 + 1.5 * 1000 + 2 * 10;  // and the few numbers beside it
  EXPECT_NEAR(four["exchange_us"], exchange, 1e-6);
  EXPECT_NEAR(four["step_us"], 210 + exchange, 1e-6);
  EXPECT_NEAR(four["images_per_second"], 400 / ((210 + exchange) * 1e-6), 1e-3);
  EXPECT_NEAR(four["efficiency"], 210 / (210 + exchange), 1e-9);
}

TEST_F(SimulateTest, OptionsTakeThePlaceOfMeasurements) {
  const Json rows = simulate({"--ranks", "2", "--batch-size", "200", "--link", "80Gbit", "--latency", "1us",
                              "--compute-us", "50", "--allreduce", "ring"});
  EXPECT_NEAR(rows[1]["compute_us"], 50, 1e-9);
  EXPECT_NEAR(rows[1]["exchange_us"], 2 * 1 + 100 + 1, 1e-6);
}

TEST_F(SimulateTest, RanksOfAHostShareIt) {
  const Json rows = simulate({"--ranks", "8", "--ranks-per-host", "4", "--replicas", "2"});
  EXPECT_EQ(rows.back()["hosts"], 2);
  EXPECT_EQ(rows.back()["replicas"], 16);
  EXPECT_NEAR(rows.back()["update_us"], 100.0 / 8, 1e-9);
  EXPECT_EQ(rows[1]["hosts"], 1);
  EXPECT_EQ(rows[1]["algorithm"], "mirrored");
}

TEST_F(SimulateTest, AFixedBatchGivesEachReplicaLess) {
  const Json rows = simulate({"--ranks", "4", "--batch-size", "100", "--strong"});
  EXPECT_EQ(rows[0]["images_per_replica"], 100);
  EXPECT_EQ(rows[2]["images_per_replica"], 25);
  EXPECT_LT(rows[2]["efficiency"], rows[1]["efficiency"]);
}

TEST_F(SimulateTest, BucketsHideAPartOfTheExchange) {
  // The last micro-batch's backward takes 0.6 of 16 of 100 images' time.
  const Json whole = simulate({"--ranks", "2", "--batch-size", "200", "--bucket-bytes", "1G"});
  const Json hidden = simulate({"--ranks", "2", "--batch-size", "200"});
  EXPECT_LT(hidden[1]["exposed_us"], whole[1]["exposed_us"].get<double>() + 8 * 20);
  EXPECT_GT(hidden[1]["exposed_us"], 0);
}

TEST_F(SimulateTest, PrintsATableForReaders) {
  const CapturedRun run = captured_run({"simulate", "--calibration", directory_ / "cluster.json", "--ranks", "512"});
  ASSERT_EQ(run.code, 0) << run.err;
  EXPECT_NE(run.out.find("64 images a replica"), std::string::npos) << run.out;
  EXPECT_NE(run.out.find(" 512 "), std::string::npos) << run.out;
  EXPECT_NE(run.out.find("efficiency"), std::string::npos);
}

TEST_F(SimulateTest, MeasuresComputingWithoutACalibration) {
  const CapturedRun run =
      captured_run({"simulate", "--model", "mlp", "--ranks", "4", "--link", "25Gbit", "--latency", "20us", "--json"});
  ASSERT_EQ(run.code, 0) << run.err;
  const Json rows = Json::parse(run.out);
  EXPECT_GT(rows[0]["compute_us"], 0);
  EXPECT_GT(rows[2]["step_us"], rows[0]["step_us"]);
}

TEST_F(SimulateTest, RefusesWhatCannotBe) {
  const auto refused = [&](std::vector<std::string> more, int code, const std::string& part) {
    more.insert(more.begin(), "simulate");
    const CapturedRun run = captured_run(more);
    EXPECT_EQ(run.code, code) << run.err;
    EXPECT_NE(run.err.find(part), std::string::npos) << run.err;
  };
  const std::string file = directory_ / "cluster.json";
  refused({"--ranks", "4"}, 2, "give --link and --latency, or a --calibration");
  refused({"--ranks", "4", "--link", "25", "--latency", "1us"}, 2, "--link: expected a rate such as 25Gbit");
  refused({"--ranks", "4", "--link", "0Gbit", "--latency", "1us"}, 2, "--link: expected a rate");
  refused({"--ranks", "4", "--link", "1Gbit", "--latency", "-1us"}, 2, "--latency: expected a time");
  refused({"--ranks", "0"}, 2, "--ranks");
  refused({"--ranks", "5", "--ranks-per-host", "2", "--calibration", file}, 2, "--ranks 5 do not fill hosts");
  refused({"--calibration", file, "--model", "mlp"}, 2, "was measured with the model cnn, not mlp");
  refused({"--calibration", directory_ / "none"}, 3, "none");
  refused({"--calibration", file, "--model", "cnm"}, 2, "cnm");
}

}  // namespace
}  // namespace lockring::app
