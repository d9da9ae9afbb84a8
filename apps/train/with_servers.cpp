#include "apps/train/with_servers.h"

#include "apps/job.h"
#include "apps/stop_signal.h"
#include "apps/train/optimizer_store.h"
#include "apps/train/run.h"
#include "apps/train/setup.h"
#include "core/error.h"
#include "core/text.h"
#include "nn/gradient_norm.h"

#include <chrono>
#include <sstream>

namespace lockring::app {
namespace {

void check_options(const TrainOptions& options, int ranks) {
  check(options.servers > 0 && options.servers < ranks,
        "--servers {}: expected at least one, and fewer than the {} ranks of the job, since some must train",
        options.servers, ranks);
  check(options.all_reduce == "auto", "--allreduce {}: with parameter servers nothing is all-reduced",
        options.all_reduce);
  check(!options.sync_bn, "--sync-bn is for the strategy allreduce");
  check(options.timeout >= 0.1 && options.timeout <= 1e6, "--timeout {} is not possible; from 0.1 to 1000000 s",
        options.timeout);
  check(!staleness_of(options) || options.clip_norm == 0,
        "--clip-norm needs the gradient of all workers, which asynchronous ones never see: leave out --staleness");
}

// Answers workers until they have finished.
int serve(const TrainOptions& options, dist::World& whole, int workers) {
  catch_stop_signals();
  const models::Architecture& architecture = models::find_architecture(options.model);
  nn::Model model(architecture.build(share_image_spec(whole, {})), options.seed);
  const std::unique_ptr<dist::Communicator> servers = dist::part_of(whole.all(), workers, options.servers);
  const std::optional<int> staleness = staleness_of(options);
  OptimizerStore store(model, {.optimizer = optimizer_options(options),
                               .clip_norm = options.clip_norm,
                               .workers = workers,
                               .servers = staleness ? nullptr : servers.get(),
                               .stop_request = stop_signal});
  const dist::ServerPlan plan{workers, options.servers, model.layout().elements(), nn::kSquareSumBlock};
  dist::ParameterServer(whole.all(), plan, store, staleness).serve();
  return stop_signal() == 0 ? 0 : 128 + stop_signal();
}

}  // namespace

std::optional<int> staleness_of(const TrainOptions& options) {
  return options.staleness < 0 ? std::nullopt : std::optional(options.staleness);
}

std::string servers_text(const TrainOptions& options, int workers) {
  const std::string how = options.staleness < 0
                              ? "synchronous"
                              : fmt::format("asynchronous, at most {} apart", counted(options.staleness, "step"));
  return fmt::format("{} and {}, {}", counted(workers, "worker"), counted(options.servers, "parameter server"), how);
}

models::ImageSpec share_image_spec(dist::World& whole, const models::ImageSpec& images) {
  std::istringstream text(whole.all().all_gather(
      fmt::format("{} {} {} {}", images.height, images.width, images.channels, images.classes))[0]);
  models::ImageSpec first;
  text >> first.height >> first.width >> first.channels >> first.classes;
  return first;
}

int train_with_servers(TrainOptions options) {
  dist::World& whole = whole_job();
  check_options(options, whole.size());
  whole.set_timeout(std::chrono::milliseconds(static_cast<std::int64_t>(options.timeout * 1000)));
  cores_of_rank();  // while servers can be asked which cores they use
  const int workers = whole.size() - options.servers;
  if (whole.rank() >= workers) return serve(options, whole, workers);
  join_workers(workers);
  return TrainRun(std::move(options)).run();
}

}  // namespace lockring::app
