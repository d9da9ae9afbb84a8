// Replicas that train one model in lockstep: the step, and exact evaluation.
//
// A step takes a global batch. Each shard of it (a contiguous part; by default one a replica) is computed by one
// replica, micro-batch after micro-batch, into a gradient arena of its own. Then the replicas meet; each adds up its
// slice of all shards' gradients as a fixed binary tree, sees whether all is finite, and updates its slice of the one
// parameter arena. The bits depend on the recipe (seed, batch, shards, micro-batch), not on the number of replicas.
//
// The replicas of a machine, threads of one rank or of several, share the arenas. Between machines, each rank exchanges
// a part of the summed gradient with its fellows before the update, so that every machine's copy stays the same.
//
// Replicas on GPUs (trainer_gpu.cpp) have parameters and an optimizer of their own. A job's only one adds up and
// updates there. Several leave their gradients in the CPU's memory, where they are summed as above, and each updates
// all of its own parameters with the sum: the same numbers, so the same bits.
#pragma once

#include "apps/evaluation.h"
#include "apps/train/bucket_hooks.h"
#include "apps/train/gpu_exchange.h"
#include "apps/train/gpu_lane.h"
#include "apps/train/gpu_steps.h"
#include "apps/train/resident_data.h"
#include "apps/train/trace.h"
#include "data/batch.h"
#include "data/dataset.h"
#include "data/loader.h"
#include "data/sampler.h"
#include "data/transform.h"
#include "distributed/buckets.h"
#include "distributed/gradient_exchange.h"
#include "distributed/mirrored_group.h"
#include "distributed/parameter_server.h"
#include "distributed/replica_sum.h"
#include "distributed/world.h"
#include "nn/model.h"
#include "nn/optimizer.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <vector>

namespace lockring::app {

// Where the parameters are kept, if not by those who train.
struct Served {
  dist::Communicator* group = nullptr;  // all ranks: those of the trainers' world first, then the servers
  int servers = 0;                      // 0: there are none
  bool asynchronous = false;
};

struct TrainerOptions {
  std::function<std::unique_ptr<nn::Module>()> build;  // called once a replica
  dist::World* world = nullptr;  // the ranks that train together, each with a trainer; null: this process alone
  int replicas = 1;              // of this process
  std::vector<Device> devices = {Device{}};  // of the replicas, in turn: the CPU, or GPUs
  DType precision = DType::f32;              // between layers; bf16 on GPUs
  std::int64_t shards = 0;                   // a multiple of the job's replicas; 0: as many as those
  // Between machines; what is complete of a step's gradient travels in buckets while the rest is computed.
  dist::Algorithm exchange = dist::Algorithm::ring;
  dist::Wire wire = dist::Wire::f32;
  bool nccl = false;                               // between GPUs, instead: of this machine and of others
  std::int64_t bucket_bytes = dist::kBucketBytes;  // 0: one bucket
  std::int64_t micro_batch = 0;                    // 0: the whole shard at once
  std::int64_t gpu_micro_batch = 0;                // the same on GPUs, which have no cache to stay in
  // Batch normalisation looks at the whole batch; then each replica computes one shard, at once.
  bool sync_batch_norm = false;
  bool resident_data = true;  // GPUs keep the images, where that is possible
  bool graphs = true;         // the only GPU's steps are recorded and launched again
  int loader_threads = 0;     // that fill batches ahead; 0: replicas fill their own
  std::uint64_t seed = 0;
  nn::OptimizerOptions optimizer;
  double label_smoothing = 0;
  double clip_norm = 0;  // 0: no clipping
  // Machines compare their parameters every so many steps; 0: never. Those of one machine are one copy.
  std::int64_t check_parameters = 0;
  Served served = {};
  // Asked by each rank in every step; what one answers, all learn. Null: never.
  std::function<int()> stop_request = {};
};

struct StepResult {
  double loss_sum = 0;  // over the batch
  std::int64_t count = 0;
  std::int64_t correct = 0;
  double gradient_norm = 0;  // of the mean gradient, before clipping
  double data_seconds = 0;   // the longest that a replica waited for its data
  // That this rank waited for other machines once its gradient was complete.
  double exchange_seconds = 0;
  int stop_request = 0;  // of any rank
  // Machines whose parameters were not those of the others before the step.
  std::vector<int> drifted = {};
};

// Owned and called by one thread, which is replica 0.
class Trainer {
 public:
  // Reads images and labels of `train` through `transform`; both must outlive the trainer. Throws Error{usage} on
  // options that cannot be.
  Trainer(TrainerOptions options, const data::Split& train, const data::Transform& transform);

  // Tells that the coming steps take `order` in parts of `batch_size`, so that threads can fill them ahead. Changes
  // nothing but the time that they take.
  void expect(std::span<const std::uint32_t> order, std::int64_t batch_size, std::int64_t epoch) {
    loader_->expect(order, batch_size, epoch);
  }

  // One step on the samples given (the global batch, in order). `step` counts from 0 over the whole run.
  // Throws Error{diverged}, naming the step (counted from 1) and the layer, when a loss or gradient is not finite;
  // nothing is updated then. Throws Error{device}, naming ranks, when parameters are found to differ between machines.
  StepResult step(std::span<const std::uint32_t> batch, std::int64_t epoch, std::int64_t step, double learning_rate);

  // The same in two parts, so that a step may be started before the one before has finished: where runs_ahead(), one.
  // `batch` must live until then. After an error nothing is under way.
  void start(std::span<const std::uint32_t> batch, std::int64_t epoch, std::int64_t step, double learning_rate);
  StepResult finish();
  // Whether steps are launched as they were recorded.
  bool launches_graphs() const { return gpu_steps_.has_value() && gpu_steps_->recorded(); }
  bool runs_ahead() const { return gpu_steps_.has_value() && trace_ == nullptr; }

  // Every rank takes over the first one's parameters and optimizer state, and all make sure that they have the same.
  // Throws Error{device}, naming ranks, if they have not. To be called before the first step.
  void synchronize();
  // The moving average of the parameters as a model, or the model itself if none is kept.
  const nn::Model& averaged() { return averaged_of(0); }
  // The same on every GPU that trains, to evaluate with.
  ModelCopies averaged_copies();
  // To be called after the parameters were written to from outside.
  void refresh();
  // Null on a job of one machine.
  dist::GradientExchange* exchange() { return exchange_.get(); }

  // With parameter servers (all three do nothing without), by all workers at the same time.
  // Gets what the servers keep, once all have come this far: the parameters and their average, and for the first rank
  // the optimizer's state.
  void settle();
  // Gives them what the first rank has, and settles.
  void publish();
  // Nothing is trained any more.
  void leave_servers();
  // The coming steps are traced; null for none, which costs a step nothing.
  void set_trace(Trace* trace) { trace_ = trace; }

  nn::Model& model() { return *models_[0]; }
  // Of the last step: the sum over its batch.
  const nn::Arena& gradient() const { return gradients_[0]; }
  const nn::Optimizer& optimizer() const { return *optimizers_[0]; }
  // Of the first replica: where model() lies.
  Device device() const { return device_of(0); }
  dist::ReplicaTeam& team() { return group_.team(); }
  // All that train, to evaluate with.
  Workers workers() { return {group_.team(), group_.job_first() + group_.first(), group_.job_size(), &world_.all()}; }
  const TrainerOptions& options() const { return options_; }

 private:
  // What a shard contributes besides its gradient: numbers that doubles hold exactly, and sums.
  struct Tail {
    double loss_sum = 0;
    double correct = 0;
    double data_seconds = 0;
    double bad_begin = 0;  // positions in the batch of the first micro-batch whose loss is not finite
    double bad_end = 0;    // equal if there is none
    double stop_request = 0;
    double digest_high = 0;  // of the replica's slice of the parameters, when they are compared
    double digest_low = 0;
  };
  static constexpr std::int64_t kTailNumbers = sizeof(Tail) / sizeof(double);
  static_assert(sizeof(Tail) % sizeof(double) == 0);
  // All tails as what is exchanged.
  std::span<double> tail_numbers() {
    return {reinterpret_cast<double*>(tails_.begin()), static_cast<std::size_t>(tails_.size() * kTailNumbers)};
  }
  // Zeroes those of other machines, before the machines' are added up.
  void clear_foreign_tails();
  // The shards that this machine computes.
  data::Range own_shards() const {
    const std::int64_t begin = group_.job_first() * per_replica_;
    return {begin, begin + group_.size() * per_replica_};
  }
  std::string plan() const;
  void make_models();
  void make_gradients(const std::shared_ptr<const nn::ArenaLayout>& layout);
  nn::ArenaMemory shared_memory();
  // Of a replica of this process, among those of the job.
  std::int64_t first_shard(int replica) const;
  // Of a shard of the job that this machine computes.
  nn::Arena& shard_gradients(std::int64_t shard) { return gradients_[shard - own_shards().begin]; }
  float* sums() { return gradients_[0].buffer().data(); }
  void run_step(int replica);
  StepResult run_whole_step();
  void compute_shard(int replica, std::int64_t shard);
  void compute_micro_batch(int replica, data::Range range, std::int64_t shard, bool last);
  static void add_loss(Tail& tail, data::Range range, double loss, std::int64_t correct);
  void meet(int replica);
  void make_exchange();
  void make_moment_sums();
  void add_up(dist::Slice slice);
  void add_up_machines(int replica);
  // In trainer_served.cpp: the rest of a step with parameter servers.
  void join_servers();
  void finish_served_step(int replica);
  StepResult push_and_pull();
  void update(int replica, dist::Slice slice, const StepResult& result);
  data::Batch read(data::Range range);
  data::Batch read_again(data::Range range) const;
  nn::Context context_of(std::int64_t first_sample) const;
  void mark(int replica, StepPart part) {
    if (trace_ != nullptr) trace_->mark(replica, part);
  }
  void note(int replica, dist::Phase phase) const;
  dist::Slice slice_of(int replica);
  StepResult totals() const;
  bool compares_parameters() const;
  void add_digest(int replica);
  std::vector<int> drifted_machines() const;
  // In trainer_gpu.cpp.
  bool on_gpu() const { return options_.devices[0].kind == DeviceKind::cuda; }
  bool sums_on_gpu() const { return on_gpu() && (group_.job_size() == 1 || options_.nccl); }
  // Whether the gradients of several GPUs, here or elsewhere, are added up in the CPU's memory.
  bool gathers_from_gpus() const { return on_gpu() && !sums_on_gpu(); }
  Device device_of(int replica) const {
    return options_.devices[static_cast<std::size_t>(replica) % options_.devices.size()];
  }
  void check_devices() const;
  void make_gpu_models();
  const nn::Arena& gradients_to_compute(int replica, std::int64_t shard);
  data::Batch send_to_gpu(int replica, data::Range range);
  void add_up_on_gpu(int replica);
  void add_up_by_nccl(int replica);
  void meet_all(int replica);
  void gather_from_gpu(int replica);
  void share_tails(int replica);
  void run_step_on_gpus(int replica);
  // The only replica's steps.
  void start_on_gpu();
  StepResult finish_on_gpu();
  void share_parameters();
  std::vector<Tensor> buffers_of(int replica) const;
  const nn::Model& averaged_of(std::size_t replica);
  static bool diverged(const StepResult& result);
  [[noreturn]] void report_divergence();
  [[noreturn]] void report_drift();

  TrainerOptions options_;
  const data::Split& train_;
  const data::Transform& transform_;
  std::optional<data::Loader> loader_;
  std::unique_ptr<dist::World> own_world_;  // of a process alone
  dist::World& world_;
  dist::MirroredGroup group_;
  std::vector<std::unique_ptr<nn::Model>> models_;           // one a replica; on CPUs on one parameter arena
  std::vector<std::unique_ptr<nn::Optimizer>> optimizers_;   // one a GPU, or one
  std::vector<std::unique_ptr<GpuLane>> lanes_;              // one a GPU
  std::vector<std::optional<ResidentData>> resident_;        // one a GPU; none where the images do not fit
  std::vector<nn::Arena> gpu_gradients_;                     // one a GPU, if there may be several
  std::vector<std::unique_ptr<GpuExchange>> gpu_exchanges_;  // one a GPU, with NCCL
  std::vector<std::unique_ptr<nn::Model>> averages_;         // as the optimizers, once they were asked for
  std::unique_ptr<dist::ParameterClient> client_;            // null without servers

  std::int64_t per_replica_ = 1;      // shards
  std::vector<nn::Arena> gradients_;  // one a shard of this machine; the first takes the sum
  std::vector<const float*> gradient_starts_;
  dist::Shared<Tail> tails_;                          // one a shard of the job
  dist::Shared<double> square_blocks_;                // of the summed gradient
  std::unique_ptr<dist::GradientExchange> exchange_;  // if there are other machines
  std::vector<BucketHooks> hooks_;                    // one a replica, then
  double exchange_seconds_ = 0;
  std::optional<dist::ReplicaSums> moment_sums_;  // for batch normalisation over the whole batch
  StepInput input_;
  StepResult result_;
  std::set<std::size_t> batch_sizes_;  // of the steps so far
  bool familiar_ = false;              // the step needs no memory that those did not
  // Of steps that were started, two at most: what is known of them already, or on the only GPU what will be added to
  // the rest. No deque, which allocates now and then.
  std::vector<StepResult> started_;
  std::optional<GpuSteps> gpu_steps_;  // of a job's only replica, on a GPU
  Trace* trace_ = nullptr;
  std::function<void(int)> step_job_;
};

}  // namespace lockring::app
