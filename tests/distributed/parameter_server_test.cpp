#include "distributed/parameter_server.h"

#include "core/rng.h"
#include "tests/distributed/ranks.h"
#include "tests/support/errors.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <limits>
#include <numeric>

namespace lockring::dist {
namespace {

using namespace std::chrono_literals;

// Plain descent; counts what it is asked for.
class Descent : public ParameterStore {
 public:
  explicit Descent(std::int64_t elements)
      : parameters(static_cast<std::size_t>(elements), 1), steps(static_cast<std::size_t>(elements), 0) {}

  std::vector<float*> arenas() override { return {parameters.data(), steps.data()}; }
  double apply(const Push& push, std::span<const float* const> gradients, Slice slice) override {
    ++applied;
    double norm = 0;
    for (std::int64_t i = slice.begin; i < slice.end; ++i) {
      float sum = 0;
      for (const float* gradient : gradients) sum += gradient[i - slice.begin];
      norm += std::abs(sum);
      if (std::isfinite(sum))
        parameters[i] -= static_cast<float>(push.learning_rate) * sum / static_cast<float>(push.count);
      steps[i] += 1;
    }
    return norm;
  }

  std::vector<float> parameters;
  std::vector<float> steps;
  int applied = 0;
};

std::vector<float> gradient_of(int worker, std::int64_t step, std::int64_t elements) {
  Rng rng(static_cast<std::uint64_t>(step), RngStream::test, static_cast<std::uint64_t>(worker));
  std::vector<float> values(static_cast<std::size_t>(elements));
  for (float& value : values) value = rng.uniform(-1, 1);
  return values;
}

constexpr std::int64_t kCount = 8;

std::vector<float> by_one_process(int workers, std::int64_t elements, int steps) {
  Descent store(elements);
  for (int step = 0; step < steps; ++step) {
    std::vector<std::vector<float>> gradients;
    std::vector<const float*> starts;
    for (int worker = 0; worker < workers; ++worker) gradients.push_back(gradient_of(worker, step, elements));
    for (const std::vector<float>& gradient : gradients) starts.push_back(gradient.data());
    store.apply({.step = step, .learning_rate = 0.1, .count = kCount}, starts, {0, elements});
  }
  return store.parameters;
}

// Each worker's part in a job whose other ranks serve.
struct Job {
  ServerPlan plan;
  std::optional<int> staleness;
  std::chrono::milliseconds timeout = 60s;
  std::atomic<std::int64_t> received{0};
  std::atomic<std::int64_t> sent{0};

  void run(const std::function<void(Communicator&, ParameterClient&, int worker)>& work) {
    run_ranks(
        plan.workers + plan.servers,
        [&](Communicator& group) {
          if (group.rank() >= plan.workers) {
            Descent store(plan.elements);
            ParameterServer server(group, plan, store, staleness);
            server.serve();
            received += server.bytes_received();
            sent += server.bytes_sent();
            return;
          }
          ParameterClient client(group, plan);
          work(group, client, group.rank());
          client.leave();
        },
        timeout);
  }
};

TEST(ParameterServer, SynchronousGivesTheBitsOfOneProcess) {
  constexpr int kSteps = 4;
  for (const int workers : {1, 2, 4})
    for (const int servers : {1, 2, 3})
      for (const std::int64_t elements : {1, 17, 1000, 70000}) {
        const std::vector<float> expected = by_one_process(workers, elements, kSteps);
        Job job{{workers, servers, elements, 16}, std::nullopt};
        job.run([&](Communicator&, ParameterClient& client, int worker) {
          std::vector<float> parameters(static_cast<std::size_t>(elements));
          for (int step = 0; step < kSteps; ++step)
            client.push({step, 0.1, kCount}, gradient_of(worker, step, elements).data(), parameters.data());
          EXPECT_EQ(parameters, expected) << workers << " workers, " << servers << " servers, " << elements;
        });
      }
}

TEST(ParameterServer, CountsTheBytesThatItMoves) {
  constexpr int kSteps = 10, kWorkers = 3;
  constexpr std::int64_t kElements = 1 << 14;
  Job job{{kWorkers, 2, kElements, 16}, std::nullopt};
  job.run([&](Communicator&, ParameterClient& client, int worker) {
    std::vector<float> parameters(kElements);
    for (int step = 0; step < kSteps; ++step)
      client.push({step, 0.1, kCount}, gradient_of(worker, 0, kElements).data(), parameters.data());
  });
  const std::int64_t slices = std::int64_t{kSteps} * kWorkers * kElements * 4;  // of both servers together
  constexpr std::int64_t kMessages = 2 * kWorkers * (kSteps + 2) * 256;
  EXPECT_GE(job.received, slices);
  EXPECT_LT(job.received, slices + kMessages);
  EXPECT_GE(job.sent, slices);
  EXPECT_LT(job.sent, slices + kMessages);
}

TEST(ParameterServer, NobodyIsFurtherAheadThanTheBound) {
  constexpr int kSteps = 40;
  for (const int staleness : {0, 1, 5}) {
    Job job{{3, 2, 100, 16}, staleness};
    std::atomic<int> begun[3] = {};  // steps
    std::atomic<int> furthest{0};
    job.run([&](Communicator&, ParameterClient& client, int worker) {
      std::vector<float> parameters(100);
      for (int step = 0; step < kSteps; ++step) {
        // Who begins step s has seen all others push step s - 1 - staleness, so they have begun it.
        begun[worker] = step + 1;
        for (const std::atomic<int>& other : begun) {
          const int ahead = step + 1 - other;
          for (int seen = furthest; ahead > seen && !furthest.compare_exchange_weak(seen, ahead);) continue;
        }
        if (worker == 0) std::this_thread::yield();
        client.push({step, 0.1, kCount}, gradient_of(worker, step, 100).data(), parameters.data());
      }
    });
    EXPECT_LE(furthest, staleness + 1);
  }
}

TEST(ParameterServer, AppliesEachGradientOnceWhenAsynchronous) {
  constexpr int kSteps = 50, kWorkers = 3;
  Job job{{kWorkers, 2, 64, 16}, 4};
  job.run([&](Communicator& group, ParameterClient& client, int) {
    std::vector<float> parameters(64), steps(64);
    const std::vector<float> gradient(64, 1);
    for (int step = 0; step < kSteps; ++step) client.push({step, 0.5, 1}, gradient.data(), parameters.data());
    const auto workers = part_of(group, 0, kWorkers);
    workers->barrier();
    client.fetch(0, parameters.data());
    client.fetch(1, steps.data());
    for (int i = 0; i < 64; ++i) {
      ASSERT_EQ(parameters[i], 1 - 0.5F * kSteps * kWorkers);
      ASSERT_EQ(steps[i], kSteps * kWorkers);
    }
  });
}

TEST(ParameterServer, KeepsWhatIsStored) {
  Job job{{2, 3, 50, 16}, std::nullopt};
  job.run([&](Communicator& group, ParameterClient& client, int worker) {
    std::vector<float> mine(50);
    std::iota(mine.begin(), mine.end(), 7.0F);
    if (worker == 0) client.store(1, mine.data());
    part_of(group, 0, 2)->barrier();
    std::vector<float> found(50);
    client.fetch(1, found.data());
    EXPECT_EQ(found, mine);
  });
}

TEST(ParameterServer, AllStopAfterOneStep) {
  for (const std::optional<int> staleness : {std::optional<int>(3), std::optional<int>()}) {
    Job job{{3, 2, 40, 16}, staleness};
    std::vector<std::int64_t> last(3, -1);
    std::vector<int> why(3, 0);
    job.run([&](Communicator&, ParameterClient& client, int worker) {
      std::vector<float> parameters(40);
      for (std::int64_t step = 0;; ++step) {
        const Pulled pulled = client.push({step, 0.1, kCount, worker == 1 && step == 20 ? 15 : 0},
                                          gradient_of(worker, step, 40).data(), parameters.data());
        if (pulled.stop_request == 0 || step < pulled.last_step.value_or(step)) continue;
        last[worker] = step;
        why[worker] = pulled.stop_request;
        return;
      }
    });
    EXPECT_GE(last[0], 20);
    EXPECT_EQ(last, std::vector<std::int64_t>(3, last[0]));
    EXPECT_EQ(why, std::vector<int>(3, 15));
  }
}

TEST(ParameterServer, TellsWhatIsNotFinite) {
  Job job{{2, 1, 20, 16}, std::nullopt};
  job.run([&](Communicator&, ParameterClient& client, int worker) {
    std::vector<float> parameters(20), gradient(20, worker == 1 ? std::numeric_limits<float>::quiet_NaN() : 1);
    EXPECT_FALSE(std::isfinite(client.push({0, 0.1, kCount}, gradient.data(), parameters.data()).results[0]));
    EXPECT_EQ(parameters, std::vector<float>(20, 1));
  });
}

TEST(ParameterServer, RefusesAnotherModel) {
  run_ranks(2, [](Communicator& group) {
    Descent store(100);
    if (group.rank() == 1) {
      ParameterServer server(group, {1, 1, 100, 16}, store, std::nullopt);
      server.serve();
      return;
    }
    expect_error(ErrorCode::usage, "hold 100 parameters, and the worker's model has 99", [&] {
      ParameterClient(group, {1, 1, 99, 16});
    });
    ParameterClient(group, {1, 1, 100, 16}).leave();
  });
}

TEST(ParameterServer, NamesTheWorkerThatIsMissing) {
  const ServerPlan plan{3, 1, 20, 16};
  const auto job = [&](Communicator& group) {
    if (group.rank() == 3) {
      group.set_timeout(2s);
      Descent store(plan.elements);
      ParameterServer server(group, plan, store, std::nullopt);
      expect_error(ErrorCode::device, "rank 3, a parameter server, has waited 2 s for rank 2 to push gradients",
                   [&] { server.serve(); });
      return;
    }
    ParameterClient client(group, plan);
    if (group.rank() == 2) return;
    std::vector<float> parameters(20), gradient(20, 1);
    expect_error(ErrorCode::device, "for the parameter server of rank 3", [&] {
      client.push({0, 0.1, kCount}, gradient.data(), parameters.data());
    });
  };
  run_ranks(4, job, 4s);
}

TEST(ParameterServer, RefusesWhatCannotBe) {
  run_ranks(1, [](Communicator& group) {
    Descent store(10);
    expect_error(ErrorCode::usage, "2 workers and 1 parameter servers are not the 1 ranks", [&] {
      ParameterServer(group, {2, 1, 10, 16}, store, std::nullopt);
    });
  });
}

TEST(WorldOfWorkers, HasNoServers) {
  run_ranks(3, [](Communicator& group) {
    if (group.rank() == 2) return;
    const auto part = part_of(group, 0, 2);
    EXPECT_EQ(part->size(), 2);
    EXPECT_EQ(part->rank(), group.rank());
    std::vector<float> values{1, 2, 3};
    part->all_reduce(values, Algorithm::ring);
    EXPECT_EQ(values, (std::vector<float>{2, 4, 6}));
  });
}

}  // namespace
}  // namespace lockring::dist
