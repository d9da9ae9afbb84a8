// lockring serve: trained models behind an HTTP server.
#include "apps/command.h"
#include "apps/device_option.h"
#include "apps/listen_options.h"
#include "apps/option_values.h"
#include "apps/serve/run_server.h"
#include "core/error.h"

#include <CLI/CLI.hpp>

#include <memory>

namespace lockring::app {
namespace {

using serve::ServeOptions;

void add_server_options(CLI::App& app, ServeOptions& options) {
  add_listen_options(app, options.listen);
  app.add_option("--api-key-file", options.api_key_file, "only answer requests that have the key in this file")
      ->type_name("FILE");
  app.add_option("--access-log", options.access_log, "file to append a JSON line to for each request; - for stderr")
      ->type_name("FILE");
}

void add_engine_options(CLI::App& app, ServeOptions& options) {
  add_device_option(app, options.device);
  app.add_option("--replicas", options.replicas, "threads that compute for each model: N, or auto[:LEAST-MOST]");
  app.add_option("--balance", options.balance, "how requests are given to replicas")
      ->check(one_of({"round-robin", "least-connections", "power-of-two", "hash"}));
  app.add_option("--max-batch", options.max_batch, "images computed together at most")->check(within(1, 4096));
  app.add_option("--max-delay-us", options.max_delay_us, "how long several waiting requests may wait for more")
      ->check(within(0, 1e7));
  app.add_option("--max-queue", options.max_queue, "requests of each model that wait at most")->check(within(1, 1e6));
  app.add_option("--max-queue-ms", options.max_queue_ms, "how long one may wait at most")->check(within(1, 3.6e6));
  app.add_option("--timeout-ms", options.timeout_ms, "deadline of a request that states none")->check(within(1, 3.6e6));
}

void add_traffic_options(CLI::App& app, ServeOptions& options) {
  app.add_option("--ensemble", options.ensemble,
                 "how the models' answers become the ensemble's; auto is mean if they are alike, none is no ensemble")
      ->check(one_of({"auto", "mean", "vote", "weighted", "none"}));
  app.add_option("--weights", options.weights, "of the models, in their order, for --ensemble weighted")
      ->delimiter(',');
  app.add_option("--policy", options.policy, "how many models must answer")->check(one_of({"all", "any", "quorum"}));
  app.add_option("--member-timeout-ms", options.member_timeout_ms,
                 "how long the ensemble waits for a model; 0: to the deadline")
      ->check(within(0, 3.6e6));
  app.add_option("--split", options.splits, "NAME=A:WEIGHT,B:WEIGHT answers requests for NAME by one of them")
      ->type_name("SPLIT");
  app.add_option("--shadow", options.shadows, "NAME=B:SHARE copies a share of the requests for the split NAME to B")
      ->type_name("SHADOW");
  app.add_option("--affinity-header", options.affinity_header, "requests with equal values in it belong together");
  app.add_option("--max-jobs", options.max_jobs, "jobs that are kept")->check(within(1, 1e6));
  app.add_option("--job-keep-s", options.job_keep_s, "how long after its end a job is kept")->check(within(1, 1e6));
}

}  // namespace

Action serve_models(CLI::App& app) {
  auto options = std::make_shared<ServeOptions>();
  app.add_option("models", options->models, "selection.json, or bundles (.safetensors), NAME=BUNDLE to name one")
      ->configurable(false)
      ->default_str("")
      ->type_name("MODEL");
  app.add_option("--repository", options->repository,
                 "folder of models in numbered versions: MODEL/VERSION/*.safetensors")
      ->type_name("DIR");
  app.add_option("--version-policy", options->version_policies,
                 "which versions are served at once: latest:N, all, or a list such as 1,3; MODEL=... for one model")
      ->type_name("POLICY");
  app.add_option("--repository-poll-secs", options->repository_poll_seconds,
                 "how often to look for versions that came or went; 0 for never")
      ->check(within(0, 86'400));
  add_server_options(app, *options);
  add_engine_options(app, *options);
  add_traffic_options(app, *options);
  app.add_option("--run-page", options->run_page, "folder of a workflow's run, to be shown at /run")->type_name("DIR");
  add_data_options(app, options->data);
  app.add_flag("--quiet", options->quiet, "print nothing but errors");
  app.footer(
      "Examples:\n  lockring serve selection.json --port 8000\n"
      "  lockring serve runs/cnn-1/best.safetensors --port 0 --replicas 2");
  return [options] { return serve::run_server(*options); };
}

}  // namespace lockring::app
