// What must not go wrong silently, or forever, when machines train together. Each is a thread here.
#include "apps/train/trainer.h"
#include "models/models.h"
#include "nn/layers.h"
#include "nn/linear.h"
#include "nn/sequential.h"
#include "tests/apps/small_training.h"
#include "tests/distributed/thread_world.h"
#include "tests/support/errors.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <stdexcept>

namespace lockring::app {
namespace {

// Has a layer that its answer does not depend on.
class HalfUsed : public nn::Module {
 public:
  HalfUsed() {
    used_ = &add_child("used", std::make_unique<nn::Linear>(kSmallImage * kSmallImage, 10));
    add_child("unused", std::make_unique<nn::Linear>(30, 20));
    flatten_ = &add_child("flatten", std::make_unique<nn::Flatten>());
  }
  Tensor forward(const Tensor& x, const nn::Context& context) const override {
    return used_->forward(flatten_->forward(x, context), context);
  }

 private:
  nn::Linear* used_;
  nn::Flatten* flatten_;
};

class FaultsTest : public testing::Test {
 protected:
  TrainerOptions options_for(dist::World& world, const std::string& model = "mlp") const {
    const models::Architecture& architecture = models::find_architecture(model);
    TrainerOptions options;
    options.build = [&architecture] { return architecture.build({kSmallImage, kSmallImage, 1, 10}); };
    options.world = &world;
    options.micro_batch = architecture.micro_batch;
    options.optimizer = {.name = "adam"};
    options.bucket_bytes = 4096;
    return options;
  }
  StepResult step(Trainer& trainer, std::int64_t step) const {
    return trainer.step(std::span(order_).subspan(step * 16, 48), 0, step, 1e-3);
  }

  const data::Split split_ = learnable_split(320, 3);
  const data::Transform transform_ = data::Transform::parse("normalize:0.4:0.3,flip");
  const std::vector<std::uint32_t> order_ = data::epoch_order(data::all_samples(320), 7, 0);
};

TEST_F(FaultsTest, AnotherPlanIsRefusedAtTheStart) {
  const auto with = [&](const std::function<void(TrainerOptions&)>& change) {
    dist::run_machines(2, [&](dist::World& world) {
      TrainerOptions options = options_for(world);
      if (world.rank() == 1) change(options);
      const Trainer trainer(options, split_, transform_);
    });
  };
  const auto refuse = [&](const char* part, const std::function<void(TrainerOptions&)>& change) {
    expect_error(ErrorCode::usage, part, [&] { with(change); });
  };
  refuse("has 'clip-norm 0', rank 1 on ", [](auto& o) { o.clip_norm = 2; });
  refuse("has 'seed 0', rank 1 on ", [](auto& o) { o.seed = 8; });
  refuse("has 'wire f32', rank 1 on ", [](auto& o) { o.wire = dist::Wire::bf16; });
  refuse("has 'dense1.weight", [](auto& o) {
    o.build = [] { return models::find_architecture("lenet").build({kSmallImage, kSmallImage, 1, 10}); };
  });
}

TEST_F(FaultsTest, TheFirstRanksParametersAndStateAreTakenOver) {
  std::vector<std::vector<float>> parameters(3), states(3);
  dist::run_machines(3, [&](dist::World& world) {
    Trainer trainer(options_for(world), split_, transform_);
    const Tensor values = trainer.model().parameters().buffer();
    Tensor state = trainer.optimizer().state()[0].arena.buffer();
    for (float& value : Tensor(values).values()) value += static_cast<float>(world.rank());
    for (float& value : state.values()) value = static_cast<float>(world.rank() + 5);
    trainer.synchronize();
    parameters[world.rank()].assign(values.values().begin(), values.values().end());
    states[world.rank()].assign(state.values().begin(), state.values().end());
  });
  for (int rank = 1; rank < 3; ++rank) {
    EXPECT_EQ(parameters[rank], parameters[0]);
    EXPECT_EQ(states[rank], states[0]);
  }
  EXPECT_EQ(states[2][0], 5);
}

TEST_F(FaultsTest, DriftStopsTheJobAndNamesTheRank) {
  for (const int replicas : {1, 2}) {
    const auto drift = [&] {
      dist::run_machines(3, [&](dist::World& world) {
        TrainerOptions options = options_for(world);
        options.replicas = replicas;
        options.check_parameters = 3;
        Trainer trainer(options, split_, transform_);
        for (std::int64_t i = 0; i < 6; ++i) {
          float& value = trainer.model().parameters().buffer().data()[70];
          if (i == 1 && world.rank() == 2) value = std::nextafter(value, 1.0F);
          step(trainer, i);
          EXPECT_LT(i, 3) << "found at the next comparison";
        }
      });
    };
    expect_error(ErrorCode::device, "before step 4, the parameters of rank 2 on ", drift);
  }
}

TEST_F(FaultsTest, EqualParametersPassTheComparison) {
  dist::run_machines(2, [&](dist::World& world) {
    TrainerOptions options = options_for(world, "cnn_bn");
    options.replicas = world.rank() + 1;  // and so slices of their own
    options.check_parameters = 1;
    Trainer trainer(options, split_, transform_);
    for (std::int64_t i = 0; i < 8; ++i) EXPECT_EQ(step(trainer, i).drifted, std::vector<int>{});
  });
}

// Not a number on one machine only: all stop at the same step, none waits.
TEST_F(FaultsTest, ANonFiniteValueOnOneMachineStopsAll) {
  std::atomic<int> stopped = 0;
  dist::run_machines(3, [&](dist::World& world) {
    Trainer trainer(options_for(world), split_, transform_);
    step(trainer, 0);
    if (world.rank() == 1) trainer.model().parameters().buffer().data()[0] = std::nanf("");
    trainer.refresh();
    expect_error(ErrorCode::diverged, "at step 2", [&] { step(trainer, 1); });
    ++stopped;
  });
  EXPECT_EQ(stopped, 3);
}

TEST_F(FaultsTest, ThoseWhoWaitNameTheRankThatThrew) {
  std::string first, second;
  const auto message_of = [&](dist::World& world) -> std::string {
    TrainerOptions options = options_for(world);
    std::int64_t asked = 0;
    if (world.rank() == 1)
      options.stop_request = [&] { return ++asked == 3 ? throw std::runtime_error("no more") : 0; };
    Trainer trainer(options, split_, transform_);
    world.set_timeout(std::chrono::seconds(3));
    try {
      for (std::int64_t i = 0; i < 10; ++i) step(trainer, i);
    } catch (const std::exception& error) {
      return world.place() + ": " + error.what();
    }
    return "";
  };
  dist::run_machines(2, [&](dist::World& world) { (world.rank() == 0 ? first : second) = message_of(world); });
  EXPECT_NE(second.find("step 3, gradient: no more"), std::string::npos) << second;
  EXPECT_NE(first.find("step 3, exchange: waited more than 3 s in the exchange of gradients; missing: rank 1 on "),
            std::string::npos)
      << first;
}

// Layers that the loss does not need: their gradients are zero, on every machine, and no bucket waits for them.
TEST_F(FaultsTest, AParameterWithoutAGradientHoldsUpNothing) {
  dist::run_machines(2, [&](dist::World& world) {
    TrainerOptions options = options_for(world);
    options.build = [] { return std::make_unique<HalfUsed>(); };
    options.bucket_bytes = 1;
    Trainer trainer(options, split_, transform_);
    const nn::Arena& parameters = trainer.model().parameters();
    const Tensor unused = parameters.view(*parameters.layout().find("unused.weight"));
    const std::vector<float> before(unused.values().begin(), unused.values().end());
    for (std::int64_t i = 0; i < 4; ++i) step(trainer, i);
    EXPECT_TRUE(std::ranges::equal(unused.values(), before));
  });
}

}  // namespace
}  // namespace lockring::app
