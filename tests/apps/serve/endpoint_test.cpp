#include "apps/serve/endpoint.h"

#include "apps/evaluation.h"
#include "core/autograd.h"
#include "ops/softmax.h"
#include "tests/apps/serve/fake_servable.h"
#include "tests/apps/small_bundle.h"

#include <gtest/gtest.h>

#include <future>
#include <thread>

namespace lockring::app::serve {
namespace {

class EndpointTest : public SmallBundleTest {
 protected:
  std::shared_ptr<const Model> model() const { return Model::load(bundle_); }
  // Patient: on a busy machine a replica may wait long for its core.
  std::shared_ptr<Endpoint> start(EndpointOptions options = {}) const {
    if (options.max_queue_time == EndpointOptions().max_queue_time) options.max_queue_time = std::chrono::minutes(10);
    return Endpoint::start("small", "1", model(), options);
  }
  // Distinct images of bytes.
  static Tensor images(std::int64_t rows, int seed = 0) {
    Tensor made = Tensor::empty({rows, 6, 5, 1}, DType::u8);
    std::uint32_t state = static_cast<std::uint32_t>(seed) * 2654435761U + 1;
    for (std::uint8_t& value : made.values<std::uint8_t>())
      value = static_cast<std::uint8_t>((state = state * 1664525U + 1013904223U) >> 24);
    return made;
  }
  // What `lockring predict` computes.
  std::vector<float> predicted(const Tensor& images) const {
    const NoGrad no_grad;
    const LoadedModel loaded = load_model(bundle_);
    const Tensor probabilities = ops::softmax(logits_of(*loaded.model, loaded.transform, images));
    return {probabilities.values().begin(), probabilities.values().end()};
  }
  static std::vector<float> values(const Answer& answer) {
    const std::span given = std::as_const(answer.probabilities).values();
    return {given.begin(), given.end()};
  }
  static std::future<Answer> ask(Endpoint& endpoint, Request request) {
    auto promise = std::make_shared<std::promise<Answer>>();
    endpoint.submit(std::move(request), [promise](Answer answer) { promise->set_value(std::move(answer)); });
    return promise->get_future();
  }
};

TEST_F(EndpointTest, AnswersAreThoseOfPredictWhateverTheBatch) {
  for (const std::int64_t max_batch : {1, 2, 64}) {
    const auto endpoint = start({.least_replicas = 2, .most_replicas = 2, .batch = {.max_rows = max_batch}});
    std::vector<std::future<Answer>> answers;
    for (int i = 0; i < 64; ++i)
      answers.push_back(ask(*endpoint, {.images = images(1 + i % 3, i), .inline_allowed = i % 2 == 0}));
    for (int i = 0; i < 64; ++i)
      EXPECT_EQ(values(answers[static_cast<std::size_t>(i)].get()), predicted(images(1 + i % 3, i))) << i;
    EXPECT_EQ(endpoint->counters().success.load(), 64u);
  }
}

TEST_F(EndpointTest, LargeRequestsAreComputedInPartsAndComeBackWhole) {
  const auto endpoint = start({.least_replicas = 2, .most_replicas = 2, .batch = {.max_rows = 16}});
  const Answer answer = ask(*endpoint, {.images = images(333)}).get();
  EXPECT_EQ(values(answer), predicted(images(333)));
  EXPECT_GE(endpoint->counters().batches.load(), 333u / 16);
  EXPECT_EQ(endpoint->counters().rows.load(), 333u);
}

TEST_F(EndpointTest, FloatsThatStandForBytesGiveTheSameBits) {
  const auto endpoint = start();
  Tensor floats = Tensor::empty({4, 6, 5, 1});
  std::ranges::copy(images(4).values<std::uint8_t>(), floats.data());
  EXPECT_EQ(values(ask(*endpoint, {.images = floats}).get()), predicted(images(4)));
}

TEST_F(EndpointTest, TheThreadThatAsksComputesItselfWhenNobodyElseIsThere) {
  const auto endpoint = start();
  // A model that was held up while it warmed up is taken for a slow one until it has answered some.
  constexpr int kMost = 1000;
  int asked = 0;
  for (bool by_caller = false; !by_caller && asked < kMost; ++asked) {
    std::promise<std::thread::id> answered_by;
    endpoint->submit({.images = images(1), .inline_allowed = true},
                     [&](const Answer&) { answered_by.set_value(std::this_thread::get_id()); });
    by_caller = answered_by.get_future().get() == std::this_thread::get_id();
  }
  EXPECT_LT(asked, kMost);
  EXPECT_EQ(endpoint->counters().released[static_cast<std::size_t>(Release::own_thread)].load(), 1u);
}

// Holds the only replica: its answer's callback waits until it is let go.
class Blocked {
 public:
  explicit Blocked(Endpoint& endpoint, const Tensor& images) {
    endpoint.submit({.images = images}, [state = state_](const Answer&) {
      state->entered.set_value();
      state->released.get_future().wait();
    });
    state_->entered.get_future().wait();
  }
  ~Blocked() { state_->released.set_value(); }

 private:
  struct State {
    std::promise<void> entered;
    std::promise<void> released;
  };
  std::shared_ptr<State> state_ = std::make_shared<State>();  // the callback may end after this object
};

TEST_F(EndpointTest, WhatWaitsIsAnsweredAtItsDeadlineAndNotComputed) {
  const auto endpoint = start();
  std::future<Answer> late;
  {
    const Blocked blocked(*endpoint, images(1));
    const std::uint64_t batches = endpoint->counters().batches.load();
    late = ask(*endpoint, {.images = images(1), .deadline = Clock::now() + std::chrono::milliseconds(20)});
    EXPECT_EQ(late.get().outcome, Outcome::late);
    EXPECT_EQ(endpoint->load().queued, 0);
    EXPECT_EQ(endpoint->counters().batches.load(), batches);
  }
  EXPECT_EQ(endpoint->counters().late.load(), 1u);
  EXPECT_EQ(ask(*endpoint, {.images = images(1)}).get().outcome, Outcome::ok);
}

TEST_F(EndpointTest, ADeadlineThatHasPassedIsRefusedAtOnce) {
  const auto endpoint = start();
  EXPECT_EQ(ask(*endpoint, {.images = images(1), .deadline = Clock::now()}).get().outcome, Outcome::late);
}

TEST_F(EndpointTest, TheQueueIsBoundedInNumberAndInTime) {
  const auto endpoint = start({.max_queue = 2, .max_queue_time = std::chrono::milliseconds(50)});
  const Blocked blocked(*endpoint, images(1));
  std::future<Answer> first = ask(*endpoint, {.images = images(1)});
  std::future<Answer> second = ask(*endpoint, {.images = images(1)});
  const Answer refused = ask(*endpoint, {.images = images(1)}).get();
  EXPECT_EQ(refused.outcome, Outcome::full);
  EXPECT_EQ(first.get().outcome, Outcome::full) << "it has waited too long";
  EXPECT_EQ(second.get().outcome, Outcome::full);
  EXPECT_EQ(endpoint->counters().refused.load(), 3u);
}

TEST_F(EndpointTest, WhoHangsUpIsNotComputedFor) {
  const auto endpoint = start();
  std::vector<std::shared_ptr<Cancellation>> clients;
  std::vector<std::future<Answer>> answers;
  std::uint64_t batches = 0;
  {
    const Blocked blocked(*endpoint, images(1));
    batches = endpoint->counters().batches.load();
    for (int i = 0; i < 50; ++i) {
      clients.push_back(std::make_shared<Cancellation>());
      answers.push_back(ask(*endpoint, {.images = images(1), .cancellation = clients.back()}));
    }
    for (const auto& client : clients) client->cancel();
    for (auto& answer : answers) EXPECT_EQ(answer.get().outcome, Outcome::cancelled);
    EXPECT_EQ(endpoint->load().queued, 0);
  }
  EXPECT_EQ(ask(*endpoint, {.images = images(1)}).get().outcome, Outcome::ok);
  EXPECT_EQ(endpoint->counters().cancelled.load(), 50u);
  EXPECT_EQ(endpoint->counters().batches.load(), batches + 1);
  const auto gone = std::make_shared<Cancellation>();
  gone->cancel();
  EXPECT_EQ(ask(*endpoint, {.images = images(1), .cancellation = gone}).get().outcome, Outcome::cancelled);
}

TEST_F(EndpointTest, WhatIsAnsweredIsLetGo) {
  const auto endpoint = start();
  auto cancellation = std::make_shared<Cancellation>();
  const std::weak_ptr<Cancellation> watched = cancellation;
  EXPECT_EQ(ask(*endpoint, {.images = images(1), .cancellation = std::move(cancellation)}).get().outcome, Outcome::ok);
  while (!watched.expired()) std::this_thread::sleep_for(std::chrono::milliseconds(1));  // the replica has it still
}

TEST_F(EndpointTest, StoppingAnswersWhatIsThere) {
  auto endpoint = start();
  std::vector<std::future<Answer>> answers;
  for (int i = 0; i < 20; ++i) answers.push_back(ask(*endpoint, {.images = images(30, i)}));
  endpoint->stop();
  for (auto& answer : answers) EXPECT_EQ(answer.get().outcome, Outcome::ok);
  EXPECT_EQ(ask(*endpoint, {.images = images(1)}).get().outcome, Outcome::unavailable);
}

TEST_F(EndpointTest, ReplicasGrowWithTheLoad) {
  const auto endpoint = start({.least_replicas = 1, .most_replicas = 3});
  EXPECT_EQ(endpoint->load().replicas, 1);
  std::vector<std::future<Answer>> answers;
  while (endpoint->load().replicas < 2) {
    answers.push_back(ask(*endpoint, {.images = images(64)}));
    if (answers.size() < 8) continue;
    for (auto& answer : answers) answer.get();
    answers.clear();
  }
  for (auto& answer : answers) answer.get();
}

TEST_F(EndpointTest, ADigestThatDiffersIsRefused) {
  const std::string digest = model()->digest();
  EXPECT_NO_THROW(Model::load(bundle_, digest));
  EXPECT_THROW(Model::load(bundle_, std::string(64, '0')), Error);
}

}  // namespace
}  // namespace lockring::app::serve
