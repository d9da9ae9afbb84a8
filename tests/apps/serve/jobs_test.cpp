#include "apps/serve/jobs.h"

#include <gtest/gtest.h>

#include <future>

namespace lockring::app::serve {
namespace {

using std::chrono::milliseconds;

http::Response text(unsigned status, const char* body) { return http::json_response(status, body); }

template <class F>
unsigned status_of(F f) {
  try {
    f();
  } catch (const http::StatusError& error) {
    return error.status();
  }
  return 200;
}

TEST(Jobs, KeepTheResponseTheyCameTo) {
  JobStore jobs({});
  const JobStore::Begun job = jobs.begin("", "x");
  EXPECT_TRUE(job.fresh);
  EXPECT_EQ(job.id.size(), 32u);
  EXPECT_EQ(jobs.find(job.id)->state, JobState::running);
  jobs.finish(job.id, text(200, "{\"a\":1}"));
  EXPECT_EQ(jobs.find(job.id)->state, JobState::done);
  EXPECT_EQ(jobs.find(job.id)->response->body, "{\"a\":1}");
  const JobStore::Begun other = jobs.begin("", "x");
  EXPECT_NE(other.id, job.id);
  jobs.finish(other.id, text(503, "{}"));
  EXPECT_EQ(jobs.find(other.id)->state, JobState::failed);
  EXPECT_FALSE(jobs.find("none").has_value());
}

TEST(Jobs, AKeyIsTheSameJobOnlyWithTheSameContent) {
  JobStore jobs({});
  const JobStore::Begun first = jobs.begin("key", "x");
  const JobStore::Begun again = jobs.begin("key", "x");
  EXPECT_EQ(again.id, first.id);
  EXPECT_FALSE(again.fresh);
  EXPECT_EQ(status_of([&] { jobs.begin("key", "y"); }), 422u);
}

TEST(Jobs, TheStoreIsBoundedAndOldOnesGo) {
  JobStore jobs({.most = 2, .keep = std::chrono::seconds(0)});
  jobs.begin("", "x");
  const JobStore::Begun done = jobs.begin("key", "x");
  EXPECT_EQ(status_of([&] { jobs.begin("", "x"); }), 503u);
  EXPECT_EQ(jobs.counts().refused, 1u);
  jobs.finish(done.id, text(200, "{}"));
  EXPECT_EQ(status_of([&] { jobs.begin("key", "other"); }), 200u) << "what has expired is forgotten, with its key";
  EXPECT_EQ(jobs.counts().expired, 1u);
}

TEST(Jobs, ResponsesTakeBoundedMemory) {
  JobStore jobs({.most_bytes = 10});
  const JobStore::Begun large = jobs.begin("", "x");
  jobs.finish(large.id, text(200, "{\"a\":\"0123456789\"}"));
  EXPECT_EQ(status_of([&] { jobs.begin("", "x"); }), 503u);
  jobs.cancel(large.id);
  EXPECT_EQ(status_of([&] { jobs.begin("", "x"); }), 200u);
}

TEST(Jobs, WaitingEndsWithTheJobOrWithPatience) {
  JobStore jobs({});
  const JobStore::Begun job = jobs.begin("", "x");
  std::promise<JobState> seen;
  jobs.wait(job.id, std::chrono::hours(1), [&](const std::optional<JobView>& view) { seen.set_value(view->state); });
  jobs.finish(job.id, text(200, "{}"));
  EXPECT_EQ(seen.get_future().get(), JobState::done);
  const JobStore::Begun slow = jobs.begin("", "x");
  std::promise<JobState> impatient;
  jobs.wait(slow.id, milliseconds(1), [&](const std::optional<JobView>& view) { impatient.set_value(view->state); });
  EXPECT_EQ(impatient.get_future().get(), JobState::running);
  bool called = false;
  jobs.wait("none", milliseconds(1), [&](const std::optional<JobView>& view) { called = !view.has_value(); });
  EXPECT_TRUE(called);
}

TEST(Jobs, CancellingTellsWhoWorksAndDropsTheResponse) {
  JobStore jobs({});
  const JobStore::Begun job = jobs.begin("", "x");
  EXPECT_EQ(jobs.cancel(job.id)->state, JobState::cancelled);
  EXPECT_TRUE(job.cancellation->cancelled());
  jobs.finish(job.id, text(200, "{}"));
  EXPECT_EQ(jobs.find(job.id)->response, nullptr);
  EXPECT_TRUE(jobs.cancel(job.id).has_value()) << "and forgets it";
  EXPECT_FALSE(jobs.cancel(job.id).has_value());
}

TEST(Jobs, TheEndOfTheStoreAnswersThoseWhoWait) {
  int answered = 0;
  {
    JobStore jobs({});
    const JobStore::Begun job = jobs.begin("", "x");
    jobs.wait(job.id, std::chrono::hours(1), [&](const std::optional<JobView>&) { ++answered; });
  }
  EXPECT_EQ(answered, 1);
}

}  // namespace
}  // namespace lockring::app::serve
