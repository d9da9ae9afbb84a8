#include "apps/train/run.h"

#include "apps/terminal.h"
#include "apps/train/checkpoint.h"
#include "apps/train/shell_word.h"
#include "apps/train/stop_signal.h"
#include "apps/train/summary.h"
#include "core/error.h"
#include "core/stopwatch.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>

namespace lockring::app {
namespace {

double mean(double sum, std::int64_t count) { return count == 0 ? 0 : sum / static_cast<double>(count); }

}  // namespace

TrainRun::TrainRun(TrainOptions options)
    : started_(std::chrono::steady_clock::now()),
      options_(std::move(options)),
      directory_(options_.run_dir, options_.model, options_.resume),
      setup_(make_setup(options_)),
      trainer_(setup_.trainer, setup_.dataset.train, setup_.transform),
      schedule_(setup_.schedule),
      progress_(progress_style(options_.quiet)) {
  if (options_.resume) {
    state_ = load_checkpoint(directory_.last(), options_, setup_, trainer_);
    check(state_.best_epoch == 0 || std::filesystem::exists(directory_.best()), ErrorCode::data,
          "{} is missing, the best of the run to resume", directory_.best().string());
  } else if (!options_.init_from.empty()) {
    load_initial_parameters(options_.init_from, trainer_);
  }
}

int TrainRun::run() {
  const StopSignal stop;
  start();
  try {
    while (state_.epoch < options_.epochs && !out_of_steps() && !stops_early())
      if (!train_epoch()) return finish_interrupted(StopSignal::received());
    return finish();
  } catch (const Error& error) {
    directory_.log(error.what());
    throw;
  }
}

void TrainRun::start() {
  open_directory();
  const std::string data = fmt::format("{} ({} to train on, {} held out)", setup_.dataset.name,
                                       with_thousands(static_cast<std::int64_t>(setup_.holdout.train.size())),
                                       with_thousands(static_cast<std::int64_t>(setup_.holdout.validation.size())));
  say(fmt::format("{} on {}, {} parameters, {} replica{}, in {}", options_.model, data,
                  with_thousands(trainer_.model().layout().trainable()), trainer_.options().replicas,
                  trainer_.options().replicas == 1 ? "" : "s", directory_.path().string()));
  if (!setup_.dataset.warning.empty()) say("WARNING: " + setup_.dataset.warning);
  if (options_.resume) say(fmt::format("resuming at step {}, epoch {}", state_.step, state_.epoch + 1));
}

// From here on there is a checkpoint, whatever happens.
void TrainRun::open_directory() {
  directory_.open();
  events_.emplace(directory_.path(), [this](const std::string& message) { progress_.line("lockring: " + message); });
  if (options_.resume) {
    directory_.keep_metrics(state_.epoch);
    events_->resume(state_.epoch + 1);
  } else {
    directory_.write("config.toml", options_.config_text);
    save_last();
  }
}

// False when a signal asked to stop in its middle.
bool TrainRun::train_epoch() {
  epoch_timing_ = {};
  const std::vector<std::uint32_t> order = data::epoch_order(setup_.holdout.train, options_.seed, state_.epoch);
  const std::int64_t done = std::min(state_.epoch_step * options_.batch_size, std::ssize(order));
  trainer_.expect(std::span(order).subspan(done), options_.batch_size, state_.epoch);
  const auto at_end = [&] { return state_.epoch_step == setup_.steps_per_epoch || out_of_steps(); };
  while (!at_end() && StopSignal::received() == 0) take_step(order);
  run_timing_.add(epoch_timing_);
  if (!at_end()) return false;
  finish_epoch();
  return true;
}

bool TrainRun::out_of_steps() const { return options_.max_steps > 0 && state_.step >= options_.max_steps; }

void TrainRun::take_step(std::span<const std::uint32_t> order) {
  const std::int64_t begin = state_.epoch_step * options_.batch_size;
  const auto batch = order.subspan(begin, std::min<std::int64_t>(options_.batch_size, std::ssize(order) - begin));
  const double learning_rate = schedule_.learning_rate(state_.step + 1);
  const auto start = std::chrono::steady_clock::now();
  const StepResult result = trainer_.step(batch, state_.epoch, state_.step, learning_rate);
  epoch_timing_.seconds += seconds_since(start);
  epoch_timing_.data_seconds += result.data_seconds;
  epoch_timing_.images += result.count;
  ++state_.step;
  ++state_.epoch_step;
  state_.loss_sum += result.loss_sum;
  state_.count += result.count;
  state_.correct += result.correct;
  show_progress(learning_rate);
}

void TrainRun::show_progress(double learning_rate) {
  const std::int64_t all = options_.epochs * setup_.steps_per_epoch;
  const std::int64_t steps = options_.max_steps > 0 ? std::min(options_.max_steps, all) : all;
  progress_.update(static_cast<double>(state_.step) / static_cast<double>(steps), [&] {
    return fmt::format("{}/{} loss {:.3f} acc {:.3f} lr {:.2g} {}/s wait {:.1f}%", state_.epoch + 1, options_.epochs,
                       mean(state_.loss_sum, state_.count), mean(static_cast<double>(state_.correct), state_.count),
                       learning_rate, with_thousands(static_cast<std::int64_t>(epoch_timing_.images_per_second())),
                       100 * epoch_timing_.data_wait_fraction());
  });
}

// Of a whole epoch, or of one that --max-steps cut short. A run that goes on from there knows nothing of this end: the
// checkpoint is of the middle of the epoch.
void TrainRun::finish_epoch() {
  EpochReport report{.epoch = state_.epoch + 1,
                     .epochs = options_.epochs,
                     .step = state_.step,
                     .learning_rate = schedule_.learning_rate(state_.step),
                     .train_loss = mean(state_.loss_sum, state_.count),
                     .train_accuracy = mean(static_cast<double>(state_.correct), state_.count),
                     .timing = epoch_timing_};
  const bool whole = state_.epoch_step == setup_.steps_per_epoch;
  if (whole) {
    state_.finish_epoch();
  } else {
    save_last();
  }
  validate(report, whole);
  record(report);
  if (whole) save_last();
  say(report_line(report));
}

// A part of an epoch counts only until there is a whole one.
void TrainRun::validate(EpochReport& report, bool whole) {
  if (setup_.holdout.validation.empty()) return;
  const nn::Model& model = trainer_.averaged();
  const Evaluation validation =
      evaluate(trainer_.team(), model, setup_.dataset.train, setup_.holdout.validation, setup_.transform);
  report.validated = true;
  report.val_loss = validation.loss;
  report.val_accuracy = validation.accuracy();
  if (!whole && state_.best_epoch > 0) return;
  report.best = state_.note_validation(report.epoch, validation.accuracy(), validation.loss);
  if (report.best) save_model(directory_.best(), options_, setup_, model, metrics());
}

// What is known of the best parameters, for their bundle.
std::map<std::string, double> TrainRun::metrics() const {
  if (state_.best_epoch == 0) return {{"epoch", static_cast<double>(state_.epoch)}};
  return {{"epoch", static_cast<double>(state_.best_epoch)},
          {"val_accuracy", state_.best_accuracy},
          {"val_loss", state_.best_loss}};
}

void TrainRun::record(const EpochReport& report) {
  directory_.append_metrics(report_json(report));
  events_->scalar("loss/train", report.epoch, report.train_loss);
  events_->scalar("acc/train", report.epoch, report.train_accuracy);
  if (report.validated) {
    events_->scalar("loss/val", report.epoch, report.val_loss);
    events_->scalar("acc/val", report.epoch, report.val_accuracy);
  }
  events_->scalar("lr", report.epoch, report.learning_rate);
  events_->scalar("perf/images_per_s", report.epoch, report.timing.images_per_second());
  events_->scalar("perf/data_wait", report.epoch, report.timing.data_wait_fraction());
  events_->flush();
}

void TrainRun::save_last() { save_checkpoint(directory_.last(), options_, setup_, trainer_, state_); }

bool TrainRun::stops_early() const { return options_.early_stop > 0 && state_.stale_epochs >= options_.early_stop; }

int TrainRun::finish_interrupted(int signal) {
  save_last();
  const std::string line =
      fmt::format("stopped at step {}; go on with: lockring train --config {} --run-dir {} --resume", state_.step,
                  shell_word(directory_.config().string()), shell_word(directory_.path().string()));
  directory_.log(line);
  progress_.line(line);
  return 128 + signal;
}

// The test set is read here, once, with the best parameters.
int TrainRun::finish() {
  if (state_.best_epoch == 0) save_model(directory_.best(), options_, setup_, trainer_.averaged(), metrics());
  const nn::Bundle best = nn::load_bundle(directory_.best());
  nn::Model model(setup_.trainer.build(), options_.seed);
  nn::load_parameters(best, model.parameters());
  model.refresh();
  const std::vector<std::uint32_t> samples = data::all_samples(setup_.dataset.test.size());
  Summary summary{.parameters = model.layout().trainable(),
                  .replicas = trainer_.options().replicas,
                  .epochs = state_.epoch,
                  .wall_seconds = 0,
                  .timing = run_timing_,
                  .test = evaluate(trainer_.team(), model, setup_.dataset.test, samples, setup_.transform),
                  .bundle = directory_.best()};
  check(std::isfinite(summary.test.loss), ErrorCode::diverged, "the loss on the test images is not finite");
  std::map<std::string, double> tested = best.info.metrics;
  tested["test_accuracy"] = summary.test.accuracy();
  tested["test_loss"] = summary.test.loss;
  save_model(directory_.best(), options_, setup_, model, tested);
  summary.wall_seconds = seconds_since(started_);
  const std::string json = summary_json(summary, options_, setup_, state_);
  directory_.write("summary.json", json);
  print_text(options_.json ? json : summary_text(summary, setup_, state_));
  return 0;
}

void TrainRun::say(const std::string& line) {
  directory_.log(line);
  progress_.line(line);
}

}  // namespace lockring::app
