// What the user asked of `lockring train`.
#pragma once

#include "apps/data_options.h"
#include "distributed/buckets.h"

#include <fmt/format.h>

#include <cstdint>
#include <string>

namespace lockring::app {

struct TrainOptions {
  std::string recipe;  // empty: none; see models/recipes.h
  std::string model = "cnn";
  DataOptions data;
  CacheOptions cache;
  std::string run_dir;  // empty: the next free runs/MODEL-N
  bool resume = false;
  bool reshard = false;  // go on with another number of shards than the run had

  std::int64_t epochs = 10;
  std::int64_t batch_size = 128;
  std::int64_t max_steps = 0;  // 0: no limit
  std::string optimizer = "adam";
  double learning_rate = 1e-3;
  double momentum = 0.9;  // sgd
  bool nesterov = false;  // sgd
  std::string schedule = "constant";
  std::string lr_scaling = "none";  // of the rate with the batch size, from the base's
  std::int64_t base_batch_size = 128;
  std::int64_t warmup_steps = 0;
  double warmup_epochs = 0;  // instead of steps
  double weight_decay = 0;
  double label_smoothing = 0;
  double clip_norm = 0;
  double ema = 0;
  std::string augment;
  double val_fraction = 0.1;
  std::int64_t early_stop = 0;  // epochs without a better validation accuracy; 0: never
  std::string init_from;
  std::uint64_t seed = 1;

  std::string device = "auto";
  std::string precision = "float32";
  std::string replicas = "auto";
  std::string micro_batch = "auto";
  std::int64_t shards = 0;
  bool sync_bn = false;
  std::string all_reduce = "auto";
  std::string wire = "f32";  // between machines
  // Of the gradient, that travel together between machines; 0: all of it.
  std::string bucket_bytes = fmt::format("{}K", dist::kBucketBytes >> 10);
  std::string all_reduce_table;  // file of lockring doctor --calibrate; empty: the built-in choice
  std::string strategy = "allreduce";
  int servers = 1;     // of the strategy parameter-server
  int staleness = -1;  // steps that a worker may be ahead of the slowest; below 0: synchronous
  std::string loader_threads = "auto";
  double timeout = 60;                  // seconds that a rank waits for others
  std::int64_t check_parameters = 100;  // steps between two comparisons of machines; 0: never

  std::string trace;  // file of a trace of a few steps; empty: none
  std::int64_t trace_steps = 10;

  bool quiet = false;
  bool json = false;
  std::string command;      // as typed, for the summary
  std::string config_text;  // the effective options, to be used again with --config
};

}  // namespace lockring::app
