#include "distributed/roll_call.h"

#include "distributed/thread_transport.h"

#include <gtest/gtest.h>

#include <memory>

namespace lockring::dist {
namespace {

// All ranks of a group, on this thread: who says what, and when, is then known.
class RollCallTest : public testing::Test {
 protected:
  std::vector<int> missing(int rank, std::int64_t operation) {
    return rolls_[rank]->missing(operation, std::chrono::milliseconds(20));
  }

  std::vector<std::unique_ptr<Transport>> transports_ = thread_transports(4);
  std::vector<std::unique_ptr<RollCall>> rolls_ = [this] {
    std::vector<std::unique_ptr<RollCall>> rolls;
    for (const auto& transport : transports_) rolls.push_back(std::make_unique<RollCall>(*transport, 1001));
    return rolls;
  }();
};

TEST_F(RollCallTest, WhoDoesNotAnswerIsMissing) {
  rolls_[0]->answer(5);
  rolls_[2]->answer(5);
  EXPECT_EQ(missing(0, 5), (std::vector<int>{1, 3}));
  EXPECT_EQ(missing(2, 5), (std::vector<int>{1, 3}));
}

TEST_F(RollCallTest, NobodyIsMissingOnceAllHaveAnswered) {
  for (const auto& roll : rolls_) roll->answer(5);
  for (int rank = 0; rank < 4; ++rank) EXPECT_EQ(missing(rank, 5), std::vector<int>{});
}

// Of a wait that ended well after all.
TEST_F(RollCallTest, OldAnswersDoNotCount) {
  for (const auto& roll : rolls_) roll->answer(5);
  rolls_[1]->answer(6);
  rolls_[1]->answer(9);
  rolls_[3]->answer(9);
  EXPECT_EQ(missing(0, 9), (std::vector<int>{2}));
}

// Who waits in a later operation has been through this one.
TEST_F(RollCallTest, WhoIsFurtherIsNotMissing) {
  rolls_[1]->answer(7);
  EXPECT_EQ(missing(0, 6), (std::vector<int>{2, 3}));
}

}  // namespace
}  // namespace lockring::dist
