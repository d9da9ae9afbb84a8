#include "apps/train/state.h"

#include "core/error.h"

#include <charconv>
#include <cmath>
#include <type_traits>

namespace lockring::app {
namespace {

// Calls visit(name, member) for every member: the one list that writing and reading share.
template <class State, class Visit>
void for_each_member(State& state, Visit visit) {
  visit("step", state.step);
  visit("epoch", state.epoch);
  visit("epoch_step", state.epoch_step);
  visit("loss_sum", state.loss_sum);
  visit("count", state.count);
  visit("correct", state.correct);
  visit("best_accuracy", state.best_accuracy);
  visit("best_loss", state.best_loss);
  visit("best_epoch", state.best_epoch);
  visit("stale_epochs", state.stale_epochs);
}

}  // namespace

std::map<std::string, std::string> TrainState::to_text() const {
  std::map<std::string, std::string> text;
  for_each_member(*this, [&](const char* name, auto value) { text[name] = fmt::format("{}", value); });
  return text;
}

TrainState TrainState::from_text(const std::map<std::string, std::string>& text) {
  TrainState state;
  for_each_member(state, [&](const char* name, auto& value) {
    const auto found = text.find(name);
    check(found != text.end(), ErrorCode::data, "the checkpoint does not say its '{}'", name);
    const char* end = found->second.data() + found->second.size();
    const auto [rest, error] = std::from_chars(found->second.data(), end, value);
    check(error == std::errc() && rest == end, ErrorCode::data, "the checkpoint's '{}' is not a number: '{}'", name,
          found->second);
    if constexpr (std::is_integral_v<std::remove_reference_t<decltype(value)>>)
      check(value >= 0, ErrorCode::data, "the checkpoint's '{}' is negative: {}", name, value);
  });
  return state;
}

bool TrainState::note_validation(std::int64_t validated_epoch, double accuracy, double loss) {
  const bool better = accuracy > best_accuracy || (accuracy == best_accuracy && loss < best_loss);
  if (!better || !std::isfinite(loss)) {
    ++stale_epochs;
    return false;
  }
  best_accuracy = accuracy;
  best_loss = loss;
  best_epoch = validated_epoch;
  stale_epochs = 0;
  return true;
}

void TrainState::finish_epoch() {
  ++epoch;
  epoch_step = 0;
  loss_sum = 0;
  count = correct = 0;
}

}  // namespace lockring::app
