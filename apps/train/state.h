// Where a run stands: with the parameters and the optimizer's state, all that a resumed run needs.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace lockring::app {

struct TrainState {
  std::int64_t step = 0;        // steps done in the run
  std::int64_t epoch = 0;       // epochs done
  std::int64_t epoch_step = 0;  // steps done in the epoch that is under way

  double loss_sum = 0;  // of that epoch so far
  std::int64_t count = 0;
  std::int64_t correct = 0;

  double best_accuracy = -1;  // on the validation samples; -1 before the first
  double best_loss = 0;
  std::int64_t best_epoch = 0;    // counts from 1; 0 before the first
  std::int64_t stale_epochs = 0;  // since the best

  // As text that gives the same bits back.
  std::map<std::string, std::string> to_text() const;
  // Throws Error{data} on text that is not a state.
  static TrainState from_text(const std::map<std::string, std::string>& text);

  // Takes the validation result of an epoch (counted from 1) into account; true if it is the best so far. NaN never is;
  // among equal accuracies the lower loss wins.
  bool note_validation(std::int64_t validated_epoch, double accuracy, double loss);
  // Goes on to the next epoch.
  void finish_epoch();
};

}  // namespace lockring::app
