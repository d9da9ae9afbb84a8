#include "apps/serve/split.h"

#include "apps/serve/traffic.h"
#include "tests/apps/serve/fake_servable.h"
#include "tests/support/errors.h"

#include <gtest/gtest.h>

#include <set>

namespace lockring::app::serve {
namespace {

void answer_everything(const Served& served) {
  for (const auto& [name, fake] : served) {
    fake->answer_at_once = std::make_unique<Answer>(answer_of({0.6F, 0.3F, 0.1F}));
    fake->answer_at_once->model = name;
  }
}

TEST(Split, WeightsAreSharesOfTheRequests) {
  const Served served = fakes({"a", "b"});
  answer_everything(served);
  Split split(parse_split("ab=a:3,b"), lookup_in(served));
  Kept kept;
  for (int i = 0; i < 4000; ++i) split.submit({.images = small_images(1)}, kept.keep());
  EXPECT_NEAR(static_cast<double>(split.arm(0).requests.load()), 3000, 150);
  EXPECT_EQ(split.arm(0).requests.load() + split.arm(1).requests.load(), 4000u);
  EXPECT_EQ(split.counters().success.load(), 4000u);
}

TEST(Split, EqualAffinityIsTheSameArm) {
  const Served served = fakes({"a", "b"});
  answer_everything(served);
  Split split(parse_split("ab=a:1,b:1"), lookup_in(served));
  std::set<std::string> arms;
  for (std::uint64_t user = 1; user <= 30; ++user) {
    Kept kept;
    for (int i = 0; i < 5; ++i) split.submit({.images = small_images(1), .affinity = user}, kept.keep());
    for (const Answer& answer : kept.answers) EXPECT_EQ(answer.model, kept.answers[0].model);
    arms.insert(kept.answers[0].model);
  }
  EXPECT_EQ(arms.size(), 2u) << "users are divided";
}

TEST(Split, AShadowIsComparedAndNotWaitedFor) {
  const Served served = fakes({"a", "shadow"});
  std::vector<SplitOptions> options = {parse_split("s=a")};
  add_shadow("s=shadow", options);
  Split split(options[0], lookup_in(served));
  Kept kept;
  const auto cancellation = std::make_shared<Cancellation>();
  split.submit({.images = small_images(2), .cancellation = cancellation}, kept.keep());
  served.at("a")->answer_next(answer_of({0.6F, 0.3F, 0.1F, 0.1F, 0.2F, 0.7F}));
  EXPECT_EQ(kept.answers.size(), 1u);
  EXPECT_EQ(served.at("shadow")->requests[0].first.cancellation, nullptr);
  served.at("shadow")->answer_next(answer_of({0.9F, 0.05F, 0.05F, 0.9F, 0.05F, 0.05F}));
  EXPECT_EQ(split.shadow().same.load(), 1u);
  EXPECT_EQ(split.shadow().different.load(), 1u);
  split.submit({.images = small_images(1)}, kept.keep());
  served.at("shadow")->answer_next({.outcome = Outcome::full});
  served.at("a")->answer_next(answer_of({0.6F, 0.3F, 0.1F}));
  EXPECT_EQ(split.shadow().failures.load(), 1u);
  EXPECT_EQ(kept.answers[1].outcome, Outcome::ok);
}

TEST(Split, AnArmThatIsGoneIsSaidToBe) {
  Served served = fakes({"a"});
  Split split(parse_split("s=a"), lookup_in(served));
  served.clear();
  Kept kept;
  split.submit({.images = small_images(1)}, kept.keep());
  EXPECT_EQ(kept.answers.at(0).outcome, Outcome::unavailable);
  EXPECT_EQ(split.arm(0).failures.load(), 1u);
}

TEST(Traffic, WhatIsWrongIsNamed) {
  expect_error(ErrorCode::usage, "NAME=A:WEIGHT", [] { parse_split("a:1,b:2"); });
  expect_error(ErrorCode::usage, "'0' is not a number above 0", [] { parse_split("s=a:0"); });
  expect_error(ErrorCode::usage, "names of models", [] { parse_split("s=a:1,"); });
  std::vector<SplitOptions> splits;
  expect_error(ErrorCode::usage, "no split 's'", [&] { add_shadow("s=b:0.1", splits); });
}

TEST(Traffic, ReplicasAreANumberOrARange) {
  EXPECT_EQ(parse_replicas("3", 2).least, 3);
  EXPECT_EQ(parse_replicas("auto", 2).most, 2);
  EXPECT_EQ(parse_replicas("auto:2-5", 2).least, 2);
  EXPECT_EQ(parse_replicas("auto:2-5", 2).most, 5);
  for (const char* wrong : {"0", "-1", "auto:5-2", "auto:1", "many", "1000"})
    expect_error(ErrorCode::usage, wrong, [&] { parse_replicas(wrong, 2); });
}

}  // namespace
}  // namespace lockring::app::serve
