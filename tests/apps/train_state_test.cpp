#include "apps/train/state.h"

#include "tests/support/errors.h"

#include <gtest/gtest.h>

#include <cmath>

namespace lockring::app {
namespace {

TEST(TrainState, ComesBackFromTextToTheBit) {
  TrainState state{.step = 12345678901,
                   .epoch = 3,
                   .epoch_step = 17,
                   .loss_sum = 0.1 + 0.2,
                   .count = 1088,
                   .correct = 900,
                   .best_accuracy = 1.0 / 3,
                   .best_loss = 5e-324,
                   .best_epoch = 2,
                   .stale_epochs = 1};
  const TrainState back = TrainState::from_text(state.to_text());
  EXPECT_EQ(back.to_text(), state.to_text());
  EXPECT_EQ(back.step, state.step);
  EXPECT_EQ(back.loss_sum, state.loss_sum);
  EXPECT_EQ(back.best_accuracy, state.best_accuracy);
  EXPECT_EQ(back.best_loss, state.best_loss);
}

TEST(TrainState, RefusesTextThatIsNotAState) {
  const std::map<std::string, std::string> good = TrainState().to_text();
  const auto refuse = [&](const std::string& part, const std::string& key, const std::string& value) {
    std::map<std::string, std::string> text = good;
    text[key] = value;
    expect_error(ErrorCode::data, part, [&] { TrainState::from_text(text); });
  };
  refuse("the checkpoint's 'step' is not a number: 'x'", "step", "x");
  refuse("'step'", "step", "");
  refuse("'epoch'", "epoch", "1.5");
  refuse("the checkpoint's 'epoch_step' is negative: -1", "epoch_step", "-1");
  refuse("'count'", "count", "99999999999999999999");
  refuse("'loss_sum'", "loss_sum", "1.5 ");
  expect_error(ErrorCode::data, "does not say its 'step'", [] { TrainState::from_text({}); });
}

TEST(TrainState, TheBestIsTheMostAccurate) {
  TrainState state;
  EXPECT_TRUE(state.note_validation(1, 0, 9)) << "anything is better than nothing";
  EXPECT_TRUE(state.note_validation(2, 0.5, 2));
  EXPECT_FALSE(state.note_validation(3, 0.4, 1));
  EXPECT_FALSE(state.note_validation(4, 0.5, 2));
  EXPECT_EQ(state.stale_epochs, 2);
  EXPECT_TRUE(state.note_validation(5, 0.5, 1.9)) << "of equal accuracies the lower loss wins";
  EXPECT_EQ(state.best_epoch, 5);
  EXPECT_EQ(state.best_accuracy, 0.5);
  EXPECT_EQ(state.best_loss, 1.9);
  EXPECT_EQ(state.stale_epochs, 0);
}

TEST(TrainState, NotANumberIsNeverTheBest) {
  TrainState state;
  EXPECT_FALSE(state.note_validation(1, 0.9, std::nan("")));
  EXPECT_FALSE(state.note_validation(2, 0.9, INFINITY));
  EXPECT_EQ(state.best_epoch, 0);
  EXPECT_EQ(state.stale_epochs, 2);
}

TEST(TrainState, ANewEpochStartsItsSumsAnew) {
  TrainState state{.step = 9, .epoch = 2, .epoch_step = 9, .loss_sum = 3, .count = 5, .correct = 4, .best_epoch = 1};
  state.finish_epoch();
  const TrainState expected{.step = 9, .epoch = 3, .best_epoch = 1};
  EXPECT_EQ(state.to_text(), expected.to_text());
}

}  // namespace
}  // namespace lockring::app
