// Learning rate schedules: pure functions of the step, so a resumed run continues where it was.
//
//   constant  the base rate
//   step      the base rate, times `decay` from each milestone on
//   cosine    half a cosine from the base rate towards 0 (Loshchilov and Hutter, "SGDR", ICLR 2017, without restarts)
//   onecycle  up from base/25, by half a cosine, then down to base/250000 by another; the momentum stays
//             (Smith and Topin, "Super-Convergence", 2018, in PyTorch's form)
//
// Warm-up is linear, over the first steps of the total. onecycle has its own, 30 % of the total unless given.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lockring::nn {

struct ScheduleOptions {
  std::string name = "constant";
  double learning_rate = 0.1;  // the base rate: the highest
  std::int64_t total_steps = 1;
  std::int64_t warmup_steps = 0;
  std::vector<double> milestones = {0.5, 0.75};  // step: fractions of the total, ascending
  double decay = 0.1;                            // step
};

class Schedule {
 public:
  // Throws Error{usage} on an unknown name (with the nearest one) or an option out of range.
  explicit Schedule(ScheduleOptions options);

  // The rate of a step, counted from 1 as in Update; beyond the total, that of the last step.
  double learning_rate(std::int64_t step) const;

 private:
  ScheduleOptions options_;
};

const std::vector<std::string>& schedule_names();

}  // namespace lockring::nn
