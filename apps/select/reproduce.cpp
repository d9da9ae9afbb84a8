#include "apps/select/reproduce.h"

#include "apps/data_reports.h"
#include "apps/evaluation.h"
#include "core/cpu.h"
#include "core/error.h"
#include "data/sampler.h"

#include <charconv>
#include <cmath>
#include <cstdlib>

namespace lockring::app {
namespace {

// Where kernels differ in the last bit, a score that is as good as a tie may fall the other way.
constexpr std::int64_t kOtherKernels = 3;

template <class T>
T number_of(const RunRecord& run, const char* setting) {
  const std::string text = run.setting(setting);
  T value{};
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  check(error == std::errc() && rest == text.data() + text.size(), ErrorCode::data,
        "{}: its config.toml has no {}, by which the validation images are known", run.path.string(), setting);
  return value;
}

bool validated(const RunRecord& run) {
  const auto found = run.metrics.find("val_accuracy");
  return found != run.metrics.end() && std::isfinite(found->second);
}

data::Dataset load_data(const RunRecord& run, const LoadedModel& loaded, bool test, const DataOptions& options,
                        const CacheOptions& cache) {
  const DataReports reports(false);
  data::LoadOptions load = reports.load_options(cache, loaded.transform.front());
  load.train = !test;
  load.test = test;
  const std::string of_run = run.setting("dataset");
  data::Dataset dataset = data::load_dataset(options.directory(), of_run.empty() ? options.dataset : of_run, load);
  check_suits(loaded, dataset);
  check(dataset.digest == loaded.info.data_digest, ErrorCode::data,
        "{}: trained on data of digest {:.16}, {} is of {:.16}; its figures cannot be checked", loaded.path.string(),
        loaded.info.data_digest, dataset.name, dataset.digest);
  return dataset;
}

}  // namespace

Reproduction reproduce(const RunRecord& run, const LoadedModel& loaded, const std::string& metric,
                       const DataOptions& options, const CacheOptions& cache) {
  const bool test = metric.starts_with("test_") || !validated(run);
  Reproduction result{.metric = test ? "test_accuracy" : "val_accuracy"};
  const auto recorded = run.metrics.find(result.metric);
  check(recorded != run.metrics.end() && std::isfinite(recorded->second), ErrorCode::data,
        "{}: has no {}, so nothing can be checked", run.path.string(), result.metric);
  const data::Dataset dataset = load_data(run, loaded, test, options, cache);
  const data::Split& split = test ? dataset.test : dataset.train;
  const std::vector<std::uint32_t> samples =
      test ? data::all_samples(split.size())
           : data::stratified_holdout(split.labels, number_of<double>(run, "val-fraction"),
                                      number_of<std::uint64_t>(run, "seed"))
                 .validation;
  dist::ReplicaTeam team(usable_cores());
  const Evaluation evaluation = evaluate(team, *loaded.model, split, samples, loaded.transform);
  result.images = evaluation.count;
  result.found = evaluation.correct;
  result.recorded = std::llround(recorded->second * static_cast<double>(evaluation.count));
  result.allowed = loaded.golden_difference == 0 ? 0 : kOtherKernels;
  check(std::abs(result.found - result.recorded) <= result.allowed, ErrorCode::data,
        "{}: recorded is {} of {} right ({} {:.4f}), but {} are now{}", run.path.string(), result.recorded,
        result.images, result.metric, recorded->second, result.found,
        result.allowed > 0 ? fmt::format("; {} may differ on other kernels", result.allowed) : "");
  return result;
}

}  // namespace lockring::app
