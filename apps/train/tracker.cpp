#include "apps/train/tracker.h"

#include "apps/event_record.h"
#include "apps/program.h"
#include "apps/train/mistakes.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <sstream>
#include <utility>

namespace lockring::app {
namespace {

constexpr std::chrono::seconds kInterval{1};
// Histograms and pictures, of which TensorBoard keeps no more anyway.
constexpr std::int64_t kMostPictures = 100;

const std::vector<std::string> kMetrics = {"acc/val", "loss/val", "acc/test", "loss/test", "acc/train", "loss/train"};
const std::vector<std::string> kLeading = {"model", "optimizer", "lr", "batch-size", "epochs"};

// A number or a truth where the text is one.
HParam hparam_of(const std::string& name, const std::string& text) {
  if (text == "true" || text == "false") return {name, text == "true"};
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc() && end == text.data() + text.size()) return {name, number};
  return {name, text};
}

std::vector<HParam> hparams_of(const Recipe& recipe) {
  std::vector<HParam> hparams;
  for (const auto& [name, text] : recipe) {
    hparams.push_back(hparam_of(name, text));
    hparams.back().leading = std::ranges::count(kLeading, name) > 0;
  }
  return hparams;
}

// Lines that Markdown leaves as they are.
std::string verbatim(const std::string& text) {
  std::istringstream lines(text);
  std::string markdown;
  for (std::string line; std::getline(lines, line);) markdown += "    " + line + "\n";
  return markdown;
}

std::string configuration(const TrainOptions& options, const Setup& setup) {
  return fmt::format("{}\n{}\n{}", verbatim(options.command),
                     verbatim(fmt::format("# lockring {}, {} {}", version(), setup.dataset.name, setup.dataset.digest)),
                     verbatim(options.config_text));
}

bool due(const EpochReport& report) {
  const std::int64_t every = (report.epochs + kMostPictures - 1) / kMostPictures;
  return report.epoch % every == 0 || report.epoch == 1 || report.epoch == report.epochs;
}

}  // namespace

Tracker::Tracker(RunDirectory& directory, const TrainOptions& options, const Setup& setup, EventFile::Warn warn)
    : directory_(directory), options_(options), setup_(setup), events_(directory.path(), std::move(warn)) {}

void Tracker::start(const Recipe& recipe, std::int64_t first_step) {
  const std::vector<HParam> hparams = hparams_of(recipe);
  const std::int64_t done = first_step - 1;
  if (done > 0) events_.add(first_step, restart_event());
  events_.add(done, experiment_event(hparams, kMetrics));
  events_.add(done, session_start_event(hparams, EventFile::system_seconds()));
  events_.add(done, text_event("config", configuration(options_, setup_)));
  events_.flush();
}

void Tracker::step(std::int64_t step, const StepResult& result, double learning_rate, double seconds) {
  sum_.loss_sum += result.loss_sum;
  sum_.count += result.count;
  sum_.correct += result.correct;
  sum_.data_seconds += result.data_seconds;
  seconds_ += seconds;
  const Clock::time_point now = Clock::now();
  if (now - recorded_at_ < kInterval) return;
  const Timing timing{.seconds = std::exchange(seconds_, 0), .data_seconds = sum_.data_seconds, .images = sum_.count};
  scalar("step/loss", step, mean(sum_.loss_sum, sum_.count));
  scalar("step/acc", step, mean(static_cast<double>(sum_.correct), sum_.count));
  scalar("step/lr", step, learning_rate);
  scalar("step/gradient_norm", step, result.gradient_norm);
  scalar("step/images_per_s", step, timing.images_per_second());
  scalar("step/data_wait", step, timing.data_wait_fraction());
  events_.flush();
  sum_ = {};
  recorded_at_ = now;
}

void Tracker::epoch(const EpochReport& report, Trainer& trainer, const StepResult& step,
                    const std::optional<Evaluation>& validation) {
  directory_.append_metrics(report_json(report));
  const std::int64_t at = report.step;
  scalar("epoch", at, static_cast<double>(report.epoch));
  scalar("loss/train", at, report.train_loss);
  scalar("acc/train", at, report.train_accuracy);
  if (report.validated) {
    scalar("loss/val", at, report.val_loss);
    scalar("acc/val", at, report.val_accuracy);
  }
  scalar("lr", at, report.learning_rate);
  scalar("perf/images_per_s", at, report.timing.images_per_second());
  scalar("perf/data_wait", at, report.timing.data_wait_fraction());
  scalar("perf/resident_mib", at, static_cast<double>(report.resident_bytes) / (1 << 20));
  if (due(report)) {
    record_distributions(at, trainer, step.count);
    if (validation)
      if (const auto panel =
              mistakes_panel(setup_.dataset.train, setup_.holdout.validation, *validation, setup_.dataset.classes))
        events_.add(at, image_event("mistakes", *panel));
  }
  events_.flush();
}

void Tracker::record_distributions(std::int64_t step, Trainer& trainer, std::int64_t batch) {
  for (const nn::Segment& segment : trainer.model().layout().segments()) {
    const Tensor weights = trainer.model().parameters().view(segment).to(Device{});
    events_.add(step, histogram_event("weights/" + segment.name, histogram_of(weights.values())));
    if (segment.kind == nn::ParameterKind::statistic || batch == 0) continue;
    const Tensor gradient = trainer.gradient().view(segment).to(Device{});
    events_.add(step, histogram_event("gradients/" + segment.name,
                                      histogram_of(gradient.values(), 1 / static_cast<double>(batch))));
  }
}

void Tracker::finish(std::int64_t step, const Evaluation& test) {
  scalar("loss/test", step, test.loss);
  scalar("acc/test", step, test.accuracy());
  events_.add(step, session_end_event(true, EventFile::system_seconds()));
  events_.flush();
}

void Tracker::fail(std::int64_t step) {
  events_.add(step, session_end_event(false, EventFile::system_seconds()));
  events_.flush();
}

void Tracker::scalar(std::string_view tag, std::int64_t step, double value) {
  events_.add(step, scalar_event(tag, value));
}

}  // namespace lockring::app
