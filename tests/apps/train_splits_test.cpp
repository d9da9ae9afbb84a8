// One global batch, however it is split: over replicas, over machines, or in time.
#include "apps/train/trainer.h"
#include "models/models.h"
#include "tests/apps/small_training.h"
#include "tests/distributed/thread_world.h"
#include "tests/support/errors.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace lockring::app {
namespace {

constexpr std::int64_t kBatch = 64;

struct Split {
  const char* name;
  int machines;
  int replicas;
  std::int64_t micro_batch;  // gradients gather over so many images at a time
};

constexpr Split kSplits[] = {{"1 x 64", 1, 1, 0},
                             {"2 x 32", 1, 2, 0},
                             {"4 x 16", 1, 4, 0},
                             {"1 x 64 in parts of 16", 1, 1, 16},
                             {"1 x 64 in parts of 7", 1, 1, 7},
                             {"2 x 32 in parts of 8", 1, 2, 8},
                             {"2 machines", 2, 1, 0},
                             {"4 machines in parts of 4", 4, 1, 4},
                             {"2 machines of 2", 2, 2, 5}};

class SplitsTest : public testing::Test {
 protected:
  // The parameters after twenty steps, the last of them on a batch of 13.
  std::vector<float> train(const Split& split, const std::string& model,
                           const std::function<void(TrainerOptions&)>& change = {}) const {
    std::vector<std::vector<float>> results(split.machines);
    dist::run_machines(split.machines, [&](dist::World& world) {
      const models::Architecture& architecture = models::find_architecture(model);
      TrainerOptions options;
      options.build = [&architecture] { return architecture.build({kSmallImage, kSmallImage, 1, 10}); };
      options.world = &world;
      options.replicas = split.replicas;
      options.micro_batch = split.micro_batch;
      options.exchange = dist::Algorithm::halving_doubling;
      options.optimizer = {.name = "sgd", .momentum = 0.9};
      options.bucket_bytes = 8192;
      if (change) change(options);
      Trainer trainer(options, split_, transform_);
      for (std::int64_t step = 0; step < 20; ++step) {
        const std::int64_t count = step == 19 ? 13 : kBatch;
        trainer.step(std::span(order_).subspan(step * 12, count), 0, step, 0.01);
      }
      const auto values = trainer.model().parameters().buffer().values();
      results[world.rank()].assign(values.begin(), values.end());
    });
    for (const std::vector<float>& result : results) EXPECT_EQ(result, results[0]) << split.name;
    return results[0];
  }

  static void expect_near(const std::vector<float>& values, const std::vector<float>& expected, double tolerance,
                          const char* name) {
    double most = 0;
    for (std::size_t i = 0; i < values.size(); ++i) most = std::max<double>(most, std::abs(values[i] - expected[i]));
    EXPECT_LT(most, tolerance) << name;
  }

  const data::Split split_ = learnable_split(320, 3);
  const data::Transform transform_ = data::Transform::parse("normalize:0.4:0.3,flip");
  const std::vector<std::uint32_t> order_ = data::epoch_order(data::all_samples(320), 7, 0);
};

TEST_F(SplitsTest, AreTheSameTraining) {
  for (const char* model : {"mlp", "cnn_dropout"}) {
    const std::vector<float> whole = train(kSplits[0], model);
    for (const Split& split : kSplits) expect_near(train(split, model), whole, 2e-5, split.name);
  }
}

TEST_F(SplitsTest, AreTheSameBitsWhereShardsAreFixed) {
  const auto four_shards = [](TrainerOptions& options) {
    options.shards = 4;
    options.micro_batch = 5;
  };
  const std::vector<float> expected = train(kSplits[0], "cnn_bn", four_shards);
  for (const Split& split : kSplits) EXPECT_EQ(train(split, "cnn_bn", four_shards), expected) << split.name;
}

TEST_F(SplitsTest, SynchronisedBatchNormSeesTheWholeBatch) {
  const auto synchronised = [](TrainerOptions& options) { options.sync_batch_norm = true; };
  const std::vector<float> whole = train(kSplits[0], "cnn_bn", synchronised);
  const std::vector<float> apart = train(kSplits[2], "cnn_bn");
  double difference = 0;
  for (std::size_t i = 0; i < whole.size(); ++i)
    difference = std::max<double>(difference, std::abs(whole[i] - apart[i]));
  EXPECT_GT(difference, 1e-2) << "groups of sixteen images are something else";
  for (const Split& split : kSplits)
    if (split.micro_batch == 0) expect_near(train(split, "cnn_bn", synchronised), whole, 2e-3, split.name);
  EXPECT_EQ(train(kSplits[2], "cnn_bn", synchronised), train({"2 machines of 2", 2, 2, 0}, "cnn_bn", synchronised))
      << "one tree wherever the replicas are";
}

// Fewer images than replicas: those that have none still give their part of every sum.
TEST_F(SplitsTest, SynchronisedBatchNormManagesEmptyShards) {
  for (const int machines : {1, 3}) {
    dist::run_machines(machines, [&](dist::World& world) {
      const models::Architecture& architecture = models::find_architecture("resnet");
      TrainerOptions options;
      options.build = [&architecture] { return architecture.build({kSmallImage, kSmallImage, 1, 10}); };
      options.world = &world;
      options.replicas = machines == 1 ? 4 : 1;
      options.sync_batch_norm = true;
      Trainer trainer(options, split_, transform_);
      for (const std::int64_t count : {2, 1, 5})
        EXPECT_TRUE(std::isfinite(trainer.step(std::span(order_).first(count), 0, 0, 0.01).loss_sum));
    });
  }
}

TEST_F(SplitsTest, SynchronisedBatchNormTakesOneShardAReplica) {
  const auto refuse = [&](const char* part, std::int64_t shards, std::int64_t micro_batch) {
    expect_error(ErrorCode::usage, part, [&] {
      train(kSplits[1], "cnn_bn", [&](TrainerOptions& options) {
        options.sync_batch_norm = true;
        options.shards = shards;
        options.micro_batch = micro_batch;
      });
    });
  };
  refuse("--shards 4 does not fit 2 replicas", 4, 0);
  refuse("--micro-batch 16 cuts them", 0, 16);
}

}  // namespace
}  // namespace lockring::app
