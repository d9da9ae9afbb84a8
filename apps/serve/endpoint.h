// One served model: replicas that compute, a bounded queue in front of them, and a deadline for every request.
//
// Replicas are threads on one shared model. They take batches of whatever waits (batch_queue.h); a request that finds
// one free never waits for company. A thread that brings a request may compute it itself if that is quick: waking
// another core would take longer. Kernels are single-threaded and the bits of an answer do not depend on its batch, so
// none of this shows in the answers.
//
// A request is refused at once if it would wait too long, and answered `late` at its deadline, whether it waits or is
// being computed; what is computed then is dropped.
#pragma once

#include "apps/balance/policy.h"
#include "apps/serve/batch_queue.h"
#include "apps/serve/model.h"
#include "apps/serve/servable.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace lockring::app::serve {

struct EndpointOptions {
  // Replicas that compute at once: fixed if equal, else as many as the load asks for.
  int least_replicas = 1;
  int most_replicas = 1;
  BatchOptions batch{};
  std::int64_t max_queue = 256;  // parts of requests that wait
  std::chrono::milliseconds max_queue_time{500};
  std::string balance = "least-connections";  // whose lane a request goes to (apps/balance/policy.h)
  std::vector<Device> devices = {Device{}};   // that the models are put on, for whoever makes them
};

class Endpoint : public Servable, public std::enable_shared_from_this<Endpoint> {
 public:
  // Computes the bundle's sample a few times, and on GPUs batches of all sizes, so that the first request finds a warm
  // model. Throws Error{device} if the system refuses threads.
  static std::shared_ptr<Endpoint> start(const std::string& name, const std::string& version,
                                         std::shared_ptr<const Model> model, const EndpointOptions& options);
  ~Endpoint() override;

  const Description& description() const override { return description_; }
  void submit(Request request, Done done) override;
  Load load() const override;
  // Answers what is there, then ends the threads; later requests are `unavailable`. Not from a done callback.
  void stop();

  const Model& model() const { return *model_; }

 private:
  Endpoint(const std::string& name, const std::string& version, std::shared_ptr<const Model> model,
           const EndpointOptions& options);

  using Lock = std::unique_lock<std::mutex>;

  void warm_up();
  bool runs_inline(const Request& request) const;
  void run_inline(Request request, const Done& done, Clock::time_point arrived, Lock& lock);
  Outcome refusal(const Request& request, Clock::time_point now, std::chrono::nanoseconds& wait) const;
  void enqueue(Request request, Done done, Clock::time_point arrived, Lock& lock);
  int choose_lane(const Request& request);
  void limit_batches();
  std::chrono::nanoseconds expected_wait() const;
  void note_wait(const Pending& pending, Clock::time_point now);

  void work(int replica);
  void run(const Batch& batch);
  void run_alone(const Part& part, Timing timing);
  void complete(const Part& part, const Timing& timing, const std::string& failure);
  // Answers unless somebody has.
  void finish(const std::shared_ptr<Pending>& pending, Answer answer);
  void note_speed(std::chrono::nanoseconds took, std::int64_t rows);
  void count_batch(const Timing& timing, Release release);

  void supervise();
  void answer_late(Lock& lock);
  void adapt_replicas();

  const std::shared_ptr<const Model> model_;
  const EndpointOptions options_;
  Description description_;

  mutable std::mutex mutex_;
  std::condition_variable work_;         // a replica has something to do
  std::condition_variable supervision_;  // the supervisor has
  BatchQueue queue_;
  const std::unique_ptr<balance::Policy> policy_;
  std::vector<std::int64_t> computing_;         // parts of requests, by replica
  std::vector<std::shared_ptr<Pending>> open_;  // waiting or being computed
  int replicas_;
  int running_ = 0;
  int idle_ = 0;  // threads that wait for work
  std::int64_t running_rows_ = 0;
  int peak_ = 0;          // most that ran or wanted to run at once, since replicas were last adapted
  int quiet_rounds_ = 0;  // times in a row that fewer were needed
  bool stopping_ = false;
  Clock::time_point next_check_ = Clock::time_point::max();
  std::atomic<double> row_ns_ = 0;  // time to compute one image, smoothed

  double wait_factor_ = 1;  // how much longer requests wait than the time of those ahead says, seldom more

  std::vector<std::thread> threads_;
};

}  // namespace lockring::app::serve
