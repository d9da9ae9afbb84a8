// Training with parameter servers; each rank is a thread here.
#include "apps/train/optimizer_store.h"
#include "nn/gradient_norm.h"
#include "tests/apps/job_training.h"
#include "tests/distributed/thread_world.h"

#include <gtest/gtest.h>

#include <cmath>

namespace lockring::app {
namespace {

// Answers the workers of train_in_job().
void serve_job(dist::World& whole, const std::string& model_name, int workers, std::optional<int> staleness) {
  const int servers = whole.size() - workers;
  nn::Model model(models::find_architecture(model_name).build({kSmallImage, kSmallImage, 1, 10}), kJobSeed);
  const auto peers = dist::part_of(whole.all(), workers, servers);
  OptimizerStore store(model, {.optimizer = job_optimizer(),
                               .clip_norm = kJobClipNorm,
                               .workers = workers,
                               .servers = staleness ? nullptr : peers.get()});
  const dist::ServerPlan plan{workers, servers, model.layout().elements(), nn::kSquareSumBlock};
  dist::ParameterServer(whole.all(), plan, store, staleness).serve();
}

// What each worker ends with.
std::vector<JobResult> with_servers(const std::string& model, int workers, int servers, int replicas,
                                    std::optional<int> staleness) {
  std::vector<JobResult> results(workers);
  dist::run_machines(workers + servers, [&](dist::World& whole) {
    if (whole.rank() >= workers) return serve_job(whole, model, workers, staleness);
    const auto world = dist::world_of_workers(whole, workers);
    results[whole.rank()] = train_in_job(world.get(), model, replicas, [&](TrainerOptions& options) {
      options.served = {.group = &whole.all(), .servers = servers, .asynchronous = staleness.has_value()};
    });
  });
  return results;
}

class ServersTest : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Models, ServersTest, testing::Values("mlp", "cnn_bn"));

TEST_P(ServersTest, SynchronousOnesGiveTheBitsOfOneProcess) {
  const JobResult alone = train_in_job(nullptr, GetParam(), 1);
  struct Placement {
    int workers, servers, replicas;
  };
  for (const auto& [workers, servers, replicas] :
       {Placement{1, 1, 4}, Placement{2, 1, 1}, Placement{2, 3, 2}, Placement{4, 2, 1}}) {
    const std::vector<JobResult> results = with_servers(GetParam(), workers, servers, replicas, std::nullopt);
    EXPECT_TRUE(results[0] == alone) << workers << " workers, " << servers << " servers";
    for (const JobResult& result : results) {
      EXPECT_EQ(result.parameters, alone.parameters);
      EXPECT_EQ(result.losses, alone.losses);
      EXPECT_EQ(result.evaluated_loss, alone.evaluated_loss);
    }
  }
}

TEST_P(ServersTest, AsynchronousOnesEndWithOneModelOnAllWorkers) {
  for (const int staleness : {0, 3}) {
    const std::vector<JobResult> results = with_servers(GetParam(), 2, 2, 1, staleness);
    EXPECT_EQ(results[1].parameters, results[0].parameters);
    EXPECT_EQ(results[1].evaluated_loss, results[0].evaluated_loss);
    EXPECT_TRUE(std::isfinite(results[0].evaluated_loss));
    const JobResult alone = train_in_job(nullptr, GetParam(), 1);
    EXPECT_NE(results[0].parameters, alone.parameters) << "each gradient moves the parameters";
  }
}

}  // namespace
}  // namespace lockring::app
