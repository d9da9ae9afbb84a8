#include "apps/serve/ensemble.h"

#include "tests/apps/serve/fake_servable.h"
#include "tests/support/errors.h"

#include <gtest/gtest.h>

#include <limits>

namespace lockring::app::serve {
namespace {

EnsembleOptions of(std::initializer_list<const char*> names, Policy policy = Policy::all) {
  EnsembleOptions options{.name = "both", .members = {}, .policy = policy};
  for (const char* name : names) options.members.push_back({name});
  return options;
}

TEST(Ensemble, AsksAllAndTellsWhatEachSaid) {
  const Served served = fakes({"one", "two"});
  Ensemble ensemble(of({"one", "two"}), lookup_in(served));
  Kept kept;
  ensemble.submit({.images = small_images(1)}, kept.keep());
  served.at("two")->answer_next(answer_of({0.2F, 0.7F, 0.1F}));
  EXPECT_TRUE(kept.answers.empty()) << "the other is still at it";
  served.at("one")->answer_next(answer_of({0.6F, 0.3F, 0.1F}));
  ASSERT_EQ(kept.answers.size(), 1u);
  const Answer& answer = kept.answers[0];
  EXPECT_EQ(answer.outcome, Outcome::ok);
  EXPECT_NEAR(answer.probabilities.data()[1], 0.5, 1e-6);
  EXPECT_FLOAT_EQ(answer.agreement.data()[0], 0.5F);
  ASSERT_EQ(answer.members.size(), 2u);
  EXPECT_EQ(answer.members[0].model, "one");
  EXPECT_FLOAT_EQ(answer.members[0].probabilities.data()[0], 0.6F);
  EXPECT_EQ(ensemble.counters().success.load(), 1u);
}

// What becomes of a request when the second of two models fails.
Answer with_failure(Policy policy, Answer failure) {
  const Served served = fakes({"one", "two"});
  Ensemble ensemble(of({"one", "two"}, policy), lookup_in(served));
  Kept kept;
  ensemble.submit({.images = small_images(1)}, kept.keep());
  served.at("one")->answer_next(answer_of({0.6F, 0.3F, 0.1F}));
  served.at("two")->answer_next(std::move(failure));
  return kept.answers.at(0);
}

TEST(Ensemble, AFailureCountsByThePolicy) {
  const Answer late{.outcome = Outcome::late, .message = "too slow"};
  const Answer all = with_failure(Policy::all, late);
  EXPECT_EQ(all.outcome, Outcome::late);
  EXPECT_NE(all.message.find("'two' did not: too slow"), std::string::npos) << all.message;
  EXPECT_EQ(with_failure(Policy::quorum, late).outcome, Outcome::late);
  const Answer any = with_failure(Policy::any, late);
  EXPECT_EQ(any.outcome, Outcome::ok);
  EXPECT_FLOAT_EQ(any.probabilities.data()[0], 0.6F);
  EXPECT_EQ(any.members[1].outcome, Outcome::late);
}

TEST(Ensemble, ScoresThatAreNotFiniteAreAFailure) {
  const Answer nan = answer_of({std::numeric_limits<float>::quiet_NaN(), 0.3F, 0.1F});
  EXPECT_EQ(with_failure(Policy::all, nan).outcome, Outcome::failed);
  const Answer any = with_failure(Policy::any, nan);
  EXPECT_EQ(any.outcome, Outcome::ok);
  EXPECT_EQ(any.members[1].message, "its scores are not finite");
}

TEST(Ensemble, AMemberThatIsGoneHasFailed) {
  Served served = fakes({"one", "two"});
  Ensemble ensemble(of({"one", "two"}, Policy::any), lookup_in(served));
  served.erase("two");
  Kept kept;
  ensemble.submit({.images = small_images(1)}, kept.keep());
  served.at("one")->answer_next(answer_of({0.6F, 0.3F, 0.1F}));
  EXPECT_EQ(kept.answers.at(0).outcome, Outcome::ok);
  EXPECT_EQ(kept.answers[0].members[1].outcome, Outcome::unavailable);
}

TEST(Ensemble, MembersHaveADeadlineOfTheirOwn) {
  const Served served = fakes({"one"});
  EnsembleOptions options = of({"one"});
  options.member_timeout = std::chrono::milliseconds(5);
  Ensemble ensemble(options, lookup_in(served));
  Kept kept;
  const auto before = Clock::now();
  ensemble.submit({.images = small_images(1)}, kept.keep());
  EXPECT_LE(served.at("one")->requests[0].first.deadline, Clock::now() + std::chrono::milliseconds(5));
  EXPECT_GE(served.at("one")->requests[0].first.deadline, before + std::chrono::milliseconds(5));
  served.at("one")->answer_next(answer_of({0.6F, 0.3F, 0.1F}));
}

TEST(Ensemble, RefusesWhatDoesNotFitTogether) {
  Served served = fakes({"one"});
  Description other = small_description("other");
  other.classes.emplace_back("d");
  served["other"] = std::make_shared<FakeServable>(other);
  expect_error(ErrorCode::usage, "no model 'none'", [&] { Ensemble(of({"one", "none"}), lookup_in(served)); });
  expect_error(ErrorCode::usage, "'other' take other images", [&] {
    Ensemble(of({"one", "other"}), lookup_in(served));
  });
  expect_error(ErrorCode::usage, "member of itself", [&] { Ensemble(of({"both"}), lookup_in(served)); });
}

}  // namespace
}  // namespace lockring::app::serve
