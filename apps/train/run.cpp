#include "apps/train/run.h"

#include "apps/job.h"
#include "apps/memory.h"
#include "apps/run_status.h"
#include "apps/shell_word.h"
#include "apps/stop_signal.h"
#include "apps/terminal.h"
#include "apps/train/checkpoint.h"
#include "apps/train/summary.h"
#include "apps/train/with_servers.h"
#include "core/error.h"
#include "core/files.h"
#include "core/notes.h"
#include "core/stopwatch.h"
#include "core/text.h"
#include "distributed/agreement.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <sstream>

namespace lockring::app {
namespace {

// Where the training images come from, if not from memory.
std::string place_of_images(const Setup& setup) {
  const data::ImageStore& images = *setup.dataset.train.images;
  if (images.access() == data::Access::memory) return "";
  return fmt::format("training images: {}, {} by {}", bytes_text(static_cast<double>(images.shape().elements())),
                     images.access() == data::Access::disk ? "read from disk" : "prepared anew in each epoch",
                     counted(setup.trainer.loader_threads, "thread"));
}

// The first rank speaks for all, and nobody waits longer than is asked.
TrainOptions prepared(TrainOptions options, dist::World& world) {
  check(options.timeout >= 0.1 && options.timeout <= 1e6, "--timeout {} is not possible; from 0.1 to 1000000 s",
        options.timeout);
  world.set_timeout(std::chrono::milliseconds(static_cast<std::int64_t>(options.timeout * 1000)));
  options.quiet |= world.rank() != 0;
  return options;
}

// Ranks must agree on the step after which they stop, so each tells the others what signals it got.
TrainerOptions with_stop_request(TrainerOptions options, const dist::World& world) {
  if (world.size() > 1) options.stop_request = stop_signal;
  return options;
}

std::string exchange_text(const Trainer& trainer, const dist::World& world) {
  if (trainer.options().nccl) return "gradients added up between GPUs by NCCL " + dist::nccl_version();
  const std::string mirrored = "gradients mirrored in shared memory";
  return world.nodes() == 1
             ? mirrored
             : fmt::format("{}, {} between machines", mirrored, dist::to_string(trainer.options().exchange));
}

}  // namespace

TrainRun::TrainRun(TrainOptions options)
    : world_(job()),
      started_(std::chrono::steady_clock::now()),
      options_(prepared(std::move(options), world_)),
      directory_(world_.rank() == 0 ? RunDirectory(options_.run_dir, options_.model, options_.resume,
                                                   [this](const std::string& m) { warn(m); })
                                    : RunDirectory::of_another()),
      reports_(options_.quiet),
      setup_(make_setup(options_, reports_)),
      trainer_(with_stop_request(setup_.trainer, world_), setup_.dataset.train, setup_.transform),
      schedule_(setup_.schedule),
      progress_(progress_style(options_.quiet)) {
  reports_.hold();
  if (leads()) restore();
  share_state();
  trainer_.publish();
}

void TrainRun::restore() {
  if (options_.resume) {
    state_ = load_checkpoint(directory_.last(), options_, setup_, trainer_);
    saved_step_ = state_.step;
    check(state_.best_epoch == 0 || std::filesystem::exists(directory_.best()), ErrorCode::data,
          "{} is missing, the best of the run to resume", directory_.best().string());
  } else if (!options_.init_from.empty()) {
    load_initial_parameters(options_.init_from, trainer_);
  }
}

// What the first rank has read from files, all others get from it.
void TrainRun::share_state() {
  if (world_.size() == 1) return;
  dist::check_agreement(world_, "the recipe", recipe_text(recipe_of(options_, setup_, trainer_)));
  std::string text;
  for (const auto& [key, value] : state_.to_text()) text += key + '\n' + value + '\n';
  std::istringstream lines(world_.all().all_gather(leads() ? text : "")[0]);
  std::map<std::string, std::string> fields;
  for (std::string key, value; std::getline(lines, key) && std::getline(lines, value);) fields[key] = value;
  state_ = TrainState::from_text(fields);
  if (trainer_.options().served.asynchronous && !leads()) state_.loss_sum = state_.count = state_.correct = 0;
  trainer_.synchronize();
}

int TrainRun::run() {
  catch_stop_signals();
  directory_.open();
  try {
    start();
    const int code = train();
    trainer_.leave_servers();
    return code;
  } catch (const Error& error) {
    finish_failed(error);
    throw;
  }
}

int TrainRun::train() {
  while (state_.epoch < options_.epochs && !out_of_steps() && !stops_early())
    if (!train_epoch()) return finish_interrupted(stop_request());
  return finish();
}

void TrainRun::start() {
  prepare_directory();
  const std::string data =
      fmt::format("{}@{:.8} ({} to train on, {} held out)", setup_.dataset.name, setup_.dataset.digest,
                  with_thousands(static_cast<std::int64_t>(setup_.holdout.train.size())),
                  with_thousands(static_cast<std::int64_t>(setup_.holdout.validation.size())));
  say(fmt::format("{} on {}, {} parameters, {}, in {}", options_.model, data,
                  with_thousands(trainer_.model().layout().trainable()), counted(trainer_.workers().total, "replica"),
                  directory_.path().string()));
  if (const std::string place = place_of_replicas(setup_); !place.empty()) say(place);
  if (trainer_.options().served.servers > 0)
    say(servers_text(options_, world_.size()));
  else if (world_.size() > 1 || trainer_.options().nccl)
    say(fmt::format("{} on {}; {}", counted(world_.size(), "rank"), counted(world_.nodes(), "machine"),
                    exchange_text(trainer_, world_)));
  if (setup_.schedule.learning_rate != options_.learning_rate)
    say(fmt::format("learning rate {:.4g}: {:.4g} for a batch of {}, scaled ({}) to {}", setup_.schedule.learning_rate,
                    options_.learning_rate, options_.base_batch_size, options_.lr_scaling, options_.batch_size));
  if (const std::string place = place_of_images(setup_); !place.empty()) say(place);
  if (!setup_.dataset.warning.empty()) say("WARNING: " + setup_.dataset.warning);
  show_notes();
  if (options_.resume) say(fmt::format("resuming at step {}, epoch {}", state_.step, state_.epoch + 1));
}

// From here on there is a checkpoint, whatever happens.
void TrainRun::prepare_directory() {
  if (!leads()) return;
  note_state({RunState::running, ""});
  if (options_.resume) {
    directory_.keep_metrics(state_.epoch);
  } else {
    directory_.write("config.toml", options_.config_text);
    if (!options_.all_reduce_table.empty()) directory_.write("allreduce.json", read_file(options_.all_reduce_table));
    save_last();
  }
  tracker_.emplace(directory_, options_, setup_, [this](const std::string& message) { warn(message); });
  Recipe recipe = recipe_of(options_, setup_, trainer_);
  recipe.emplace_back("replicas", fmt::format("{}", trainer_.workers().total));
  if (options_.schedule == "constant") recipe.emplace_back("epochs", fmt::format("{}", options_.epochs));
  tracker_->start(recipe, state_.step + 1);
  if (!options_.trace.empty())
    tracer_.emplace(options_.trace, options_.trace_steps, trainer_,
                    [this](const std::string& message) { warn(message); });
}

// False when a signal asked to stop in its middle.
bool TrainRun::train_epoch() {
  epoch_timing_ = {};
  const std::vector<std::uint32_t> order = data::epoch_order(setup_.holdout.train, options_.seed, state_.epoch);
  const std::int64_t done = std::min(state_.epoch_step * options_.batch_size, std::ssize(order));
  trainer_.expect(std::span(order).subspan(done), options_.batch_size, state_.epoch);
  const auto at_end = [&] { return state_.epoch_step == setup_.steps_per_epoch || out_of_steps(); };
  while (!at_end() && stop_request() == 0) take_step(order);
  finish_steps(0);
  settle();
  run_timing_.add(epoch_timing_);
  if (!at_end()) return false;
  finish_epoch();
  return true;
}

// Parameters that servers keep come here. An asynchronous worker has counted its own samples only; from here on the
// first rank knows those of all.
void TrainRun::settle() {
  trainer_.settle();
  if (!trainer_.options().served.asynchronous) return;
  double sums[] = {state_.loss_sum, static_cast<double>(state_.count), static_cast<double>(state_.correct),
                   static_cast<double>(epoch_timing_.images)};
  world_.all().all_reduce(std::span<double>(sums));
  state_.loss_sum = leads() ? sums[0] : 0;
  state_.count = leads() ? static_cast<std::int64_t>(sums[1]) : 0;
  state_.correct = leads() ? static_cast<std::int64_t>(sums[2]) : 0;
  epoch_timing_.images = static_cast<std::int64_t>(sums[3]);
}

int TrainRun::stop_request() const { return world_.size() > 1 ? last_step_.stop_request : stop_signal(); }

bool TrainRun::out_of_steps() const { return options_.max_steps > 0 && state_.step >= options_.max_steps; }

std::int64_t TrainRun::total_steps() const {
  const std::int64_t all = options_.epochs * setup_.steps_per_epoch;
  return options_.max_steps > 0 ? std::min(options_.max_steps, all) : all;
}

void TrainRun::show_progress(double learning_rate) {
  progress_.update(static_cast<double>(state_.step) / static_cast<double>(total_steps()), [&] {
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
  const std::optional<Evaluation> validation = validate(report, whole);
  report.resident_bytes = resident_bytes();
  if (tracker_) tracker_->epoch(report, trainer_, last_step_, validation);
  if (whole) save_last();
  show_notes();
  say(report_line(report));
}

// A part of an epoch counts only until there is a whole one.
std::optional<Evaluation> TrainRun::validate(EpochReport& report, bool whole) {
  if (setup_.holdout.validation.empty()) return std::nullopt;
  world_.note(state_.step, dist::Phase::evaluation);
  const nn::Model& model = trainer_.averaged();
  Evaluation validation = evaluate(trainer_.workers(), trainer_.averaged_copies(), setup_.dataset.train,
                                   setup_.holdout.validation, setup_.transform);
  report.validated = true;
  report.val_loss = validation.loss;
  report.val_accuracy = validation.accuracy();
  if (whole || state_.best_epoch == 0) {
    report.best = state_.note_validation(report.epoch, validation.accuracy(), validation.loss);
    if (report.best) save_best(model, metrics());
  }
  return validation;
}

// What is known of the best parameters, for their bundle.
std::map<std::string, double> TrainRun::metrics() const {
  if (state_.best_epoch == 0) return {{"epoch", static_cast<double>(state_.epoch)}};
  return {{"epoch", static_cast<double>(state_.best_epoch)},
          {"val_accuracy", state_.best_accuracy},
          {"val_loss", state_.best_loss}};
}

void TrainRun::save_last() {
  save_or_say_what_is_kept([&] { save_checkpoint(directory_.last(), options_, setup_, trainer_, state_); });
  saved_step_ = state_.step;
}

void TrainRun::save_best(const nn::Model& model, const std::map<std::string, double>& metrics) {
  save_or_say_what_is_kept([&] { save_model(directory_.best(), options_, setup_, model, metrics); });
}

void TrainRun::save_or_say_what_is_kept(const std::function<void()>& save) const {
  if (!leads()) return;
  world_.note(state_.step, dist::Phase::saving);
  try {
    save();
  } catch (const Error& error) {
    if (error.code() != ErrorCode::data) throw;
    std::error_code ignored;
    const bool kept = saved_step_ && std::filesystem::exists(directory_.last(), ignored);
    fail(ErrorCode::data, "{}; {}", error.what(),
         kept ? fmt::format("the checkpoint of step {} is kept, to go on from with --resume", *saved_step_)
              : "there is no checkpoint");
  }
}

bool TrainRun::stops_early() const { return options_.early_stop > 0 && state_.stale_epochs >= options_.early_stop; }

int TrainRun::finish_interrupted(int signal) {
  save_last();
  if (const Trace* trace = finish_trace()) print_text(trace_table(*trace));
  const std::string line =
      fmt::format("stopped at step {}; go on with: lockring train --config {} --run-dir {} --resume", state_.step,
                  shell_word(directory_.config().string()), shell_word(directory_.path().string()));
  say(line);
  note_state({RunState::stopped, ""});
  return 128 + signal;
}

// TensorBoard is told of a divergence only: other failures may be gone when the run is resumed.
void TrainRun::finish_failed(const Error& error) {
  directory_.log(error.what());
  const bool diverged = error.code() == ErrorCode::diverged;
  if (diverged && tracker_) tracker_->fail(state_.step - std::ssize(under_way_));
  note_state({diverged ? RunState::diverged : RunState::failed, error.what()});
}

// The test set is read here, once, with the best parameters.
int TrainRun::finish() {
  world_.note(state_.step, dist::Phase::evaluation);
  if (state_.best_epoch == 0) save_best(trainer_.averaged(), metrics());
  nn::Model best_model(setup_.trainer.build(), options_.seed);
  std::map<std::string, double> tested;
  if (leads()) {
    const nn::Bundle best = nn::load_bundle(directory_.best());
    nn::load_parameters(best, best_model.parameters());
    tested = best.info.metrics;
  }
  world_.all().broadcast(std::as_writable_bytes(best_model.parameters().buffer().values()), 0);
  const DeviceCopies copies(best_model, setup_.trainer.devices, setup_.trainer.build);
  const std::vector<std::uint32_t> samples = data::all_samples(setup_.dataset.test.size());
  Summary summary{.parameters = best_model.layout().trainable(),
                  .replicas = trainer_.workers().total,
                  .epochs = state_.epoch,
                  .wall_seconds = 0,
                  .timing = run_timing_,
                  .test = evaluate(trainer_.workers(), copies.models(), setup_.dataset.test, samples, setup_.transform),
                  .bundle = directory_.best(),
                  .trace = finish_trace()};
  check(std::isfinite(summary.test.loss), ErrorCode::diverged, "the loss on the test images is not finite");
  tested["test_accuracy"] = summary.test.accuracy();
  tested["test_loss"] = summary.test.loss;
  save_best(*copies.models()[0], tested);
  if (tracker_) tracker_->finish(state_.step, summary.test);
  summary.wall_seconds = seconds_since(started_);
  show_notes();
  const std::string json = summary_json(summary, options_, setup_, state_);
  directory_.write("summary.json", json);
  note_state({RunState::finished, ""});
  if (leads()) print_text(options_.json ? json : summary_text(summary, setup_, state_));
  return 0;
}

const Trace* TrainRun::finish_trace() {
  if (!tracer_) return nullptr;
  tracer_->finish();
  return tracer_->trace();
}

void TrainRun::note_state(const RunStatus& status) { directory_.write("status.json", status_json(status)); }

// What those who read images, and the library, had to say meanwhile.
void TrainRun::show_notes() {
  for (const DataNote& note : reports_.take()) {
    directory_.log("note: " + note.text);
    if (!note.shown) progress_.line("note: " + note.text);
  }
  for (const std::string& note : take_notes()) say("note: " + note);
}

void TrainRun::say(const std::string& line) {
  directory_.log(line);
  progress_.line(line);
}

void TrainRun::warn(const std::string& message) {
  if (!leads()) return;
  directory_.log(message);
  progress_.warning(message);
}

}  // namespace lockring::app
