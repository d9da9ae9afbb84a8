#include "nn/schedule.h"

#include "core/error.h"
#include "core/text.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

namespace lockring::nn {
namespace {

// The factors of the base rate at `t`, the number of steps already made, out of options.total_steps.
using Factor = double (*)(const ScheduleOptions& options, double t);

// From `start` to `end` by half a cosine, as `part` goes from 0 to 1.
double half_cosine(double start, double end, double part) {
  return end + (start - end) * 0.5 * (1 + std::cos(std::numbers::pi * part));
}

double constant(const ScheduleOptions&, double) { return 1; }

double step(const ScheduleOptions& o, double t) {
  const auto total = static_cast<double>(o.total_steps);
  const auto passed = std::ranges::count_if(o.milestones, [&](double milestone) { return t >= milestone * total; });
  return std::pow(o.decay, passed);
}

double cosine(const ScheduleOptions& o, double t) {
  return half_cosine(1, 0, (t - o.warmup_steps) / static_cast<double>(o.total_steps - o.warmup_steps));
}

double onecycle(const ScheduleOptions& o, double t) {
  constexpr double kStart = 1 / 25.0;
  constexpr double kEnd = kStart / 1e4;
  const auto total = static_cast<double>(o.total_steps);
  const double top = (o.warmup_steps > 0 ? static_cast<double>(o.warmup_steps) : 0.3 * total) - 1;
  const double last = total - 1;
  return t <= top && top > 0 ? half_cosine(kStart, 1, t / top) : half_cosine(1, kEnd, (t - top) / (last - top));
}

struct Entry {
  const char* name;
  Factor factor;
  bool warms_up_itself = false;
};
constexpr Entry kSchedules[] = {
    {"constant", constant}, {"step", step}, {"cosine", cosine}, {"onecycle", onecycle, true}};

const Entry& find(const std::string& name) {
  const auto* found = std::ranges::find(kSchedules, name, &Entry::name);
  check(found != std::end(kSchedules), "there is no schedule '{}'{}; there are {}", name,
        did_you_mean(name, schedule_names()), joined(schedule_names()));
  return *found;
}

}  // namespace

Schedule::Schedule(ScheduleOptions options) : options_(std::move(options)) {
  const ScheduleOptions& o = options_;
  find(o.name);
  check(o.learning_rate >= 0 && std::isfinite(o.learning_rate), "the learning rate must be at least 0, not {}",
        o.learning_rate);
  check(o.total_steps >= 1, "a schedule needs at least one step, not {}", o.total_steps);
  check(o.warmup_steps >= 0 && o.warmup_steps < o.total_steps, "warm-up must be shorter than training: {} of {} steps",
        o.warmup_steps, o.total_steps);
  const auto is_fraction = [](double milestone) { return milestone > 0 && milestone < 1; };
  check(std::ranges::all_of(o.milestones, is_fraction) && std::ranges::is_sorted(o.milestones),
        "milestones must be ascending fractions of the training, between 0 and 1");
  check(o.decay > 0 && o.decay <= 1, "the decay of the learning rate must be in (0, 1], not {}", o.decay);
}

double Schedule::learning_rate(std::int64_t step) const {
  const Entry& entry = find(options_.name);
  const std::int64_t made = std::clamp<std::int64_t>(step - 1, 0, options_.total_steps - 1);
  if (made < options_.warmup_steps && !entry.warms_up_itself)
    return options_.learning_rate * static_cast<double>(made + 1) / static_cast<double>(options_.warmup_steps);
  return options_.learning_rate * entry.factor(options_, static_cast<double>(made));
}

const std::vector<std::string>& schedule_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const Entry& entry : kSchedules) all.emplace_back(entry.name);
    return all;
  }();
  return names;
}

}  // namespace lockring::nn
