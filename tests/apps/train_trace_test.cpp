#include "apps/train/trace.h"

#include "apps/train/trainer.h"
#include "models/models.h"
#include "tests/apps/small_training.h"
#include "tests/support/allocation_counter.h"
#include "tests/support/tensors.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <optional>

namespace lockring::app {
namespace {

class TraceTest : public testing::Test {
 protected:
  Trainer trainer(const char* model, int replicas) const {
    const models::Architecture& architecture = models::find_architecture(model);
    TrainerOptions options;
    options.build = [&architecture] { return architecture.build({kSmallImage, kSmallImage, 1, 10}); };
    options.micro_batch = architecture.micro_batch;
    options.replicas = replicas;
    options.shards = 4;
    options.seed = 7;
    return {options, split_, transform_};
  }
  void step(Trainer& trainer, std::int64_t number) const {
    trainer.step(std::span(order_).subspan(number % 4 * 64, 64), 0, number, 0.01);
  }
  // Some steps of a warm trainer.
  const Trace& traced(Trainer& trainer, std::int64_t steps = 3) {
    step(trainer, 0);
    trace_.emplace(trainer.options().replicas);
    trainer.set_trace(&*trace_);
    for (std::int64_t i = 1; i <= steps; ++i) step(trainer, i);
    trainer.set_trace(nullptr);
    return *trace_;
  }

  const data::Split split_ = learnable_split(320, 3);
  const data::Transform transform_ = data::Transform::parse("normalize:0.4:0.3,crop:2,flip");
  const std::vector<std::uint32_t> order_ = data::epoch_order(data::all_samples(320), 7, 0);
  std::optional<Trace> trace_;
};

// The layers of a part, in their order.
std::vector<std::string> layers_of(const Trace& trace, StepPart part) {
  std::vector<std::string> layers;
  for (const Trace::Share& share : trace.shares())
    if (share.part == part && !share.layer.empty()) layers.push_back(share.layer);
  return layers;
}

TEST_F(TraceTest, SpansLeaveNoGap) {
  Trainer cnn = trainer("cnn_bn", 2);
  const Trace& trace = traced(cnn);
  ASSERT_EQ(trace.steps().size(), 3u);
  EXPECT_EQ(trace.steps()[0].number, 2);
  EXPECT_EQ(trace.replicas(), 2);
  for (int replica = 0; replica < 2; ++replica) {
    const std::vector<Trace::Span> spans = trace.spans(replica);
    auto span = spans.begin();
    for (const Trace::Step& step : trace.steps()) {
      double at = step.begin;
      for (; span != spans.end() && span->begin < step.end; ++span) {
        EXPECT_EQ(span->begin, at);
        EXPECT_GE(span->end, span->begin);
        at = span->end;
      }
      EXPECT_EQ(at, step.end);
    }
    EXPECT_EQ(span, spans.end());
  }
}

TEST_F(TraceTest, SharesAddUpToTheStep) {
  Trainer cnn = trainer("cnn", 2);
  const Trace& trace = traced(cnn);
  double parts = 0;
  double fractions = 0;
  double forward = 0;
  double forward_layers = 0;
  std::vector<StepPart> seen;
  for (const Trace::Share& share : trace.shares()) {
    if (share.layer.empty()) {
      parts += share.microseconds;
      fractions += share.fraction;
      seen.push_back(share.part);
    }
    if (share.part == StepPart::forward) (share.layer.empty() ? forward : forward_layers) += share.microseconds;
  }
  EXPECT_NEAR(parts, trace.step_microseconds(), 1e-6 * trace.step_microseconds());
  EXPECT_NEAR(fractions, 1, 1e-6);
  EXPECT_NEAR(forward, forward_layers, 1e-6 * forward);
  EXPECT_EQ(seen,
            (std::vector<StepPart>{StepPart::data, StepPart::forward, StepPart::loss, StepPart::backward,
                                   StepPart::exchange, StepPart::optimizer, StepPart::packing, StepPart::waiting}));
}

TEST_F(TraceTest, NamesTheLayersOfBothWays) {
  Trainer cnn = trainer("cnn", 2);
  const std::vector<std::string> forward = layers_of(traced(cnn), StepPart::forward);
  EXPECT_EQ(forward, (std::vector<std::string>{"conv1", "conv2", "conv3", "flatten", "dense1", "dense2"}));
  std::vector<std::string> backward = layers_of(*trace_, StepPart::backward);
  std::ranges::reverse(backward);
  EXPECT_EQ(backward, forward);
  EXPECT_TRUE(layers_of(*trace_, StepPart::loss).empty());
}

TEST_F(TraceTest, ALayerWithinAnotherHasItsOwnTime) {
  Trainer resnet = trainer("resnet", 1);
  const std::vector<std::string> layers = layers_of(traced(resnet, 1), StepPart::forward);
  const auto has = [&](const char* name) { return std::ranges::count(layers, name) == 1; };
  EXPECT_TRUE(has("stem.conv"));
  EXPECT_TRUE(has("block1.body.1.conv"));
  EXPECT_TRUE(has("block1")) << "its sum";
  EXPECT_FALSE(has("stem")) << "it does nothing besides its layers";
  EXPECT_FALSE(has("block1.body"));
}

TEST_F(TraceTest, ChangesNoBit) {
  Trainer plain = trainer("cnn_bn", 2);
  Trainer observed = trainer("cnn_bn", 2);
  for (std::int64_t i = 0; i < 4; ++i) step(plain, i);
  traced(observed);
  expect_same_bits(observed.model().parameters().buffer(), plain.model().parameters().buffer());
}

TEST_F(TraceTest, CostsNothingOnceItIsOver) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer keeps no freed memory";
#endif
  Trainer cnn = trainer("cnn", 2);
  traced(cnn);
  const std::size_t spans = trace_->spans(0).size();
  for (std::int64_t i = 4; i < 8; ++i) step(cnn, i);
  const AllocationCounter allocations(AllocationCounter::Scope::all_threads);
  for (std::int64_t i = 8; i < 12; ++i) step(cnn, i);
  EXPECT_EQ(allocations.count(), 0);
  EXPECT_EQ(trace_->spans(0).size(), spans);
}

// What a viewer needs (Trace Event Format): complete events with begin and duration that nest, and names of rows.
TEST_F(TraceTest, IsAChromeTrace) {
  Trainer cnn = trainer("cnn", 2);
  const nlohmann::json json = nlohmann::json::parse(chrome_trace(traced(cnn)));
  std::vector<std::string> rows;
  std::vector<double> step_ends(2, -1);
  std::vector<double> at(2, 0);
  for (const nlohmann::json& event : json["traceEvents"]) {
    EXPECT_EQ(event["pid"], 1);
    if (event["ph"] == "M") {
      if (event["name"] == "thread_name") rows.push_back(event["args"]["name"]);
      continue;
    }
    ASSERT_EQ(event["ph"], "X");
    const auto replica = event["tid"].get<std::size_t>();
    ASSERT_LT(replica, 2u);
    const double begin = event["ts"];
    const double end = begin + event["dur"].get<double>();
    EXPECT_GE(event["dur"], 0);
    if (event["cat"] == "step") {
      EXPECT_GE(begin, step_ends[replica]);
      step_ends[replica] = end;
    } else {
      EXPECT_GE(begin, at[replica] - 0.002) << "thousandths are rounded";
      EXPECT_LE(end, step_ends[replica] + 0.002);
      at[replica] = end;
    }
  }
  EXPECT_EQ(rows, (std::vector<std::string>{"replica 0", "replica 1"}));
  const auto named = [&](const char* name) {
    return std::ranges::count_if(json["traceEvents"],
                                 [&](const nlohmann::json& event) { return event["name"] == name; });
  };
  EXPECT_EQ(named("step 3"), 2);
  // 16 images a shard and a micro-batch of 16: two a replica and step.
  EXPECT_EQ(named("forward conv2"), 2 * 2 * 3);
  EXPECT_EQ(named("backward conv2"), 2 * 2 * 3);
  EXPECT_EQ(named("weight packing"), 2 * 3);
  EXPECT_EQ(named("exchange"), 2 * 3);
  EXPECT_EQ(named("data"), 2 * 2 * 3);
  EXPECT_GE(named("waiting"), 2 * 3);
}

TEST_F(TraceTest, TheTableEndsWithTheStep) {
  Trainer mlp = trainer("mlp", 1);
  const std::string table = trace_table(traced(mlp, 1));
  EXPECT_EQ(table.rfind("where the time of a step goes (mean of 1 step of 1 replica)\n", 0), 0u) << table;
  EXPECT_NE(table.find("\n  forward  "), std::string::npos);
  EXPECT_NE(table.find("\n    dense1 "), std::string::npos);
  const std::size_t last = table.rfind('\n', table.size() - 2);
  EXPECT_EQ(table.substr(last + 1, 6), "  step");
  EXPECT_TRUE(table.ends_with("100.0 %\n")) << table;
}

}  // namespace
}  // namespace lockring::app
