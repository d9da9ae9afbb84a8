// The server's handler: every path it answers, and what lies behind.
//
//   /                       the page to try it on       /docs, /openapi.json   what there is
//   /predict                picture in, label out       /metrics               Prometheus
//   /v2/...                 Open Inference Protocol v2 with Triton's extensions
//   /v1/models/...          TensorFlow Serving's predict, status and metadata
//   /jobs                   requests that are answered later
//   /status, /samples       for the page                /run, /run.json       the workflow's run
//
// Called on event loops: what would hold one up goes to threads of its own.
#pragma once

#include "apps/http/message.h"
#include "apps/http/responder.h"
#include "apps/serve/jobs.h"
#include "apps/serve/offload.h"
#include "apps/serve/repository.h"
#include "apps/serve/samples.h"

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace lockring::app::serve {

struct ServiceOptions {
  std::string default_model;                  // asked by /predict; "" for the first
  std::chrono::milliseconds timeout{30'000};  // of a request that does not say
  std::string affinity_header = "x-session-id";
  JobOptions jobs;
  std::function<std::string()> http_metrics;  // of the HTTP server, for /metrics
  std::function<std::string()> workflow_run;  // JSON of the run that the server belongs to; none if there is none
};

// One request on its way through the service.
struct Call {
  std::shared_ptr<http::Request> request;
  std::function<void(http::Response)> respond;  // once, on any thread
  std::shared_ptr<Cancellation> cancellation;
  bool on_event_loop = true;
  std::chrono::steady_clock::time_point arrived;
};

class Service {
 public:
  Service(const ServiceOptions& options, Repository& repository, Samples& samples);

  // http::Handler. Throws what response_to_exception() knows.
  void handle(http::Request&& request, http::Responder responder);
  // Ready: models are loaded, and answered. It is not while the server drains.
  void set_ready(bool ready) { ready_ = ready; }
  bool ready() const { return ready_; }

 private:
  using Path = std::vector<std::string_view>;  // segments
  using Respond = std::function<void(http::Response)>;

  void route(Call call);
  void route_v2(Call& call, const Path& path);
  void route_model(Call& call, const Path& path);
  void route_repository(Call& call, const Path& path);
  void route_v1(Call& call, const Path& path);
  void route_jobs(Call& call, const Path& path);
  bool route_page(Call& call, std::string_view path);

  // Runs `task` on another thread, where what it throws is answered.
  void offload(Call call, std::function<void(Call&)> task);
  std::shared_ptr<Servable> served(std::string_view name, std::string_view version = "") const;
  Request engine_request(const Call& call, Tensor images, std::chrono::microseconds timeout) const;

  void infer(Call& call, const std::shared_ptr<Servable>& servable);
  void infer_now(Call& call, const std::shared_ptr<Servable>& servable);
  void infer_later(Call& call, const std::shared_ptr<Servable>& servable);
  void predict(Call& call);
  void predict_now(Call& call, const std::shared_ptr<Servable>& servable);
  void predict_tensorflow(Call& call, const std::shared_ptr<Servable>& servable);
  void begin_job(Call& call);
  void show_job(Call& call, const std::string& id, bool result);

  const ServiceOptions options_;
  Repository& repository_;
  Samples& samples_;
  JobStore jobs_;
  std::atomic<bool> ready_ = false;
  // Last: its tasks use the others.
  Offload background_;
};

}  // namespace lockring::app::serve
