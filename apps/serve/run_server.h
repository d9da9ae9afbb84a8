// `lockring serve` from its options to its end.
#pragma once

#include "apps/data_options.h"
#include "apps/listen_options.h"

#include <cstdint>
#include <string>
#include <vector>

namespace lockring::app::serve {

struct ServeOptions {
  std::vector<std::string> models;
  std::string repository;
  std::vector<std::string> version_policies;
  double repository_poll_seconds = 0;  // 0: never
  ListenOptions listen;
  std::string api_key_file;
  std::string access_log;

  std::string device = "auto";
  std::string replicas = "auto";
  std::string balance = "least-connections";
  std::int64_t max_batch = 64;
  std::int64_t max_delay_us = 0;
  std::int64_t max_queue = 256;
  std::int64_t max_queue_ms = 500;
  std::int64_t timeout_ms = 30'000;

  std::string ensemble = "auto";
  std::vector<double> weights;
  std::string policy = "all";
  std::int64_t member_timeout_ms = 0;
  std::vector<std::string> splits;
  std::vector<std::string> shadows;
  std::string affinity_header = "x-session-id";
  std::size_t max_jobs = 1024;
  std::int64_t job_keep_s = 600;

  std::string run_page;  // folder of the workflow's run that has started it; empty: none

  DataOptions data;
  bool quiet = false;
};

// Loads the models, serves until SIGTERM or Ctrl-C, drains. Returns the exit code; throws Error for models that cannot
// be loaded and options that cannot be.
int run_server(const ServeOptions& options);

}  // namespace lockring::app::serve
