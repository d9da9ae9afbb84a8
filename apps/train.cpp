// lockring train: its options.
#include "apps/command.h"
#include "apps/config_file.h"
#include "apps/data_options.h"
#include "apps/device_option.h"
#include "apps/option_values.h"
#include "apps/shell_word.h"
#include "apps/train/options.h"
#include "apps/train/run.h"
#include "apps/train/with_servers.h"
#include "models/recipes.h"
#include "nn/optimizer.h"
#include "nn/schedule.h"

#include <CLI/CLI.hpp>

#include <memory>

namespace lockring::app {
namespace {

void declare_data(CLI::App& app, TrainOptions& o) {
  add_data_options(app, o.data);
  add_cache_options(app, o.cache);
  app.add_option("--val-fraction", o.val_fraction, "share of the training images that is held out for validation");
  app.add_option(
      "--augment", o.augment,
      "what happens to images, such as crop:2,flip: resize, grayscale, rotate, crop, flip, erase, cutout, mixup, tta");
}

void declare_recipe(CLI::App& app, TrainOptions& o) {
  app.add_option("--recipe", o.recipe, "named defaults for the options below; see lockring models");
  app.add_option("--model", o.model, "architecture; see lockring models");
  app.add_option("--epochs", o.epochs, "times that the training images are seen");
  app.add_option("--batch-size", o.batch_size, "images a step, over all replicas");
  app.add_option("--max-steps", o.max_steps, "end after so many steps; 0 for no limit");
  app.add_option("--optimizer", o.optimizer, "sgd, adam or adamw")->check(one_of(nn::optimizer_names()));
  app.add_option("--lr", o.learning_rate, "learning rate, the schedule's highest");
  app.add_option("--momentum", o.momentum, "momentum of sgd");
  app.add_flag("--nesterov", o.nesterov, "Nesterov's form of it");
  app.add_option("--schedule", o.schedule, "constant, step, cosine or onecycle")->check(one_of(nn::schedule_names()));
  app.add_option("--warmup-steps", o.warmup_steps, "steps over which the learning rate rises first");
  app.add_option("--warmup-epochs", o.warmup_epochs, "the same in epochs, which may be parts of one");
  app.add_option("--lr-scaling", o.lr_scaling, "multiplies --lr by --batch-size / --base-batch-size, or by its root")
      ->check(one_of({"none", "linear", "sqrt"}));
  app.add_option("--base-batch-size", o.base_batch_size, "the batch size that --lr is for, if it is scaled");
  app.add_option("--weight-decay", o.weight_decay, "pulls weights towards zero");
  app.add_option("--label-smoothing", o.label_smoothing, "share of each target that is spread over all classes");
  app.add_option("--clip-norm", o.clip_norm, "longest gradient; longer ones are scaled down; 0 for no limit");
  app.add_option("--ema", o.ema, "decay of a moving average of the parameters, which is then what counts; 0 for none");
  app.add_option("--early-stop", o.early_stop, "end after so many epochs without a better validation accuracy");
  app.add_option("--init-from", o.init_from, "bundle whose parameters to start from");
  app.add_option("--seed", o.seed, "of everything random");
}

void declare_execution(CLI::App& app, TrainOptions& o) {
  add_device_option(app, o.device);
  add_precision_option(app, o.precision);
  app.add_option("--replicas", o.replicas, "replicas that train in lockstep; auto is one a core, or one a GPU");
  app.add_option("--micro-batch", o.micro_batch,
                 "images computed at once; auto is the model's own, and on GPUs all that a replica has");
  app.add_option("--shards", o.shards, "parts of a batch; equal parts give equal bits on any number of replicas");
  app.add_flag("--sync-bn", o.sync_bn, "batch normalisation looks at the whole batch, over all replicas");
  app.add_option(
      "--loader-threads", o.loader_threads,
      "threads that prepare batches ahead; auto is none where that is quick, else one a spare core or replica");
  app.add_option(
         "--allreduce", o.all_reduce,
         "how gradients are added up; auto is nccl where every replica has a GPU of its own, else mirrored on one "
         "machine, and halving-doubling or ring between several")
      ->check(one_of({"auto", "mirrored", "ring", "halving-doubling", "mpi", "nccl"}));
  app.add_option("--wire", o.wire, "what gradients are between machines: f32, or bf16, half as long")
      ->check(one_of({"f32", "bf16"}));
  app.add_option("--bucket-bytes", o.bucket_bytes,
                 "gradients that travel together between machines while others are computed; 0 for all at once");
  app.add_option("--timeout", o.timeout, "seconds after which a rank that waits for others says who is missing");
  app.add_option("--check-parameters", o.check_parameters,
                 "steps after which machines compare their parameters again; 0 for never");
  app.add_option("--allreduce-table", o.all_reduce_table,
                 "what lockring doctor --calibrate has stored, for --allreduce auto to choose by")
      ->type_name("FILE");
  app.add_option("--strategy", o.strategy, "allreduce, or parameter-server: the last ranks keep the parameters")
      ->check(one_of({"allreduce", "parameter-server"}));
  app.add_option("--servers", o.servers, "ranks that serve, with --strategy parameter-server")->check(within(1, 1e6));
  app.add_option("--staleness", o.staleness,
                 "steps that an asynchronous worker may be ahead of the slowest one; -1 for synchronous workers")
      ->check(within(-1, 1e6));
  app.add_option("--run-dir", o.run_dir, "folder of this run; the next free runs/MODEL-N by default")
      ->configurable(false);
  app.add_flag("--resume", o.resume, "go on with the run in --run-dir")->configurable(false);
  app.add_flag(
         "--reshard", o.reshard,
         "with --resume: the batch may have other parts than before, and then the bits are not those of a whole run")
      ->configurable(false);
  app.add_option("--trace", o.trace, "write where the time of a few steps goes, for ui.perfetto.dev, and print a table")
      ->configurable(false)
      ->type_name("FILE");
  app.add_option("--trace-steps", o.trace_steps, "so many, once training has warmed up")->configurable(false);
  app.add_flag("--quiet", o.quiet, "show nothing but the result")->configurable(false);
  app.add_flag("--json", o.json, "print the result as one JSON object")->configurable(false);
}

// The command as it would be typed: what differs from the defaults is enough to run it again.
std::string command_text(const CLI::App& app) {
  std::string text = "lockring train";
  for (const CLI::Option* option : app.get_options()) {
    if (option->count() == 0 || option->get_lnames().empty()) continue;
    text += " --" + option->get_lnames().front();
    if (option->get_expected_max() == 0) continue;
    for (const std::string& value : option->results()) text += fmt::format(" {}", shell_word(value));
  }
  return text;
}

}  // namespace

Action train(CLI::App& app) {
  auto options = std::make_shared<TrainOptions>();
  declare_recipe(app, *options);
  declare_data(app, *options);
  declare_execution(app, *options);
  app.footer("Example:\n  lockring train --recipe quick --run-dir runs/first");
  return [options, &app] {
    options->command = command_text(app);
    if (!options->recipe.empty()) {
      const models::Recipe& recipe = models::find_recipe(options->recipe);
      apply_defaults(app, std::string(recipe.text), "recipe " + options->recipe);
    }
    options->config_text = config_text(app);
    return options->strategy == "parameter-server" ? train_with_servers(*options) : TrainRun(*options).run();
  };
}

}  // namespace lockring::app
