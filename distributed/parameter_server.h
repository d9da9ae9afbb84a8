// The parameter server: some ranks keep the parameters, the others compute gradients.
//
// The pattern of Li et al., "Scaling Distributed Machine Learning with the Parameter Server", OSDI 2014, which
// all-reduce has replaced. Each of K servers owns a slice of the parameter arena. In a step a worker pushes its
// gradient to all servers, a slice to each, and pulls their slices of the parameters. A server moves 2 W n / K bytes a
// step for W workers and n bytes of parameters, where a rank of a ring moves 2 n (W - 1) / W each way: it is the
// servers' links that block.
//
// Synchronous: a server applies the gradients of all workers at once and then answers. Asynchronous: it applies each as
// it comes, and answers at once, unless the worker is more than a bound of steps ahead of the slowest (stale
// synchronous parallel, Ho et al., NIPS 2013).
#pragma once

#include "distributed/communicator.h"
#include "distributed/slice.h"
#include "distributed/world.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace lockring::dist {

struct ServerMessage;

// Of a group, ranks [0, workers) work, and the others, one at least, serve. All must make the same.
struct ServerPlan {
  int workers = 1;
  int servers = 1;
  std::int64_t elements = 0;     // of the arena, float32
  std::int64_t granularity = 1;  // of the servers' slices, in elements

  int rank_of(int server) const { return workers + server; }
  Slice slice(int server) const { return slice_of(elements, granularity, servers, server); }
};

// What a worker says of a gradient.
struct Push {
  std::int64_t step = 0;  // of this worker, one more each time
  double learning_rate = 0;
  std::int64_t count = 0;  // samples in the gradient that is to be applied: of this worker, or of all together
  int stop_request = 0;    // not 0: the job should stop soon
};

struct Pulled {
  std::vector<double> results;            // what each server's store made of the gradient
  int stop_request = 0;                   // of any worker or server, once it is known...
  std::optional<std::int64_t> last_step;  // ... after which step, the same for all (asynchronous); else after this one
};

// A worker's side. One thread; throws Error{device} when a server does not answer in the group's timeout.
class ParameterClient {
 public:
  // Throws Error{usage} if the servers were made with another plan.
  ParameterClient(Communicator& group, const ServerPlan& plan);

  // Pushes a gradient of the whole arena and pulls the parameters that come of it.
  Pulled push(const Push& push, const float* gradient, float* parameters);
  // Arena `index` of the servers: 0 is the parameters, then those of the store's state.
  void fetch(int index, float* arena);
  void store(int index, const float* arena);
  // The servers' work is done once all workers have left.
  void leave();

  const ServerPlan& plan() const { return plan_; }

 private:
  // To every server at once; `out` and `in` are arenas, or null for nothing to send or to get. The servers' answers.
  std::vector<ServerMessage> ask(ServerMessage message, const float* out, float* in, std::string_view what);

  Communicator& group_;
  ServerPlan plan_;
};

// What a server keeps: whoever knows optimizers implements it. Called by serve() only.
class ParameterStore {
 public:
  virtual ~ParameterStore() = default;
  // Starts of the arenas, parameters first. The server reads and writes its slice of them only.
  virtual std::vector<float*> arenas() = 0;
  // Moves the slice by the sum of `gradients`, each of the slice alone. `push` is what came with them; all workers say
  // the same, but for the step of an asynchronous one. Returns what workers should know of the sum; nothing must move
  // if it is not finite.
  virtual double apply(const Push& push, std::span<const float* const> gradients, Slice slice) = 0;
  // Not 0 if the job should stop soon: asked with every apply().
  virtual int stop_request() { return 0; }
};

class ParameterServer {
 public:
  // Without a staleness bound it is synchronous. Both arguments must outlive the server.
  ParameterServer(Communicator& group, const ServerPlan& plan, ParameterStore& store, std::optional<int> staleness);
  ~ParameterServer();

  // Answers until all workers have left. Throws Error{device} that names the workers which the others wait for, when
  // they have not pushed in the group's timeout.
  void serve();

  std::int64_t bytes_received() const { return bytes_received_; }
  std::int64_t bytes_sent() const { return bytes_sent_; }

 private:
  struct Worker;

  bool poll();
  bool poll(Worker& worker);
  void receive_message(Worker& worker);
  void receive_slice(Worker& worker, float* to);
  void take(Worker& worker);
  void apply_all();
  void apply_one(Worker& worker);
  void release();
  void answer(Worker& worker, const float* slice);
  bool waiting() const;
  std::string missing() const;

  Communicator& group_;
  const ServerPlan plan_;
  const Slice slice_;
  ParameterStore& store_;
  const std::optional<int> staleness_;
  std::vector<float*> arenas_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::int64_t last_answered_ = -1;  // the latest step that any worker has got an answer to
  int stop_request_ = 0;
  std::int64_t stop_step_ = -1;
  std::int64_t bytes_received_ = 0;
  std::int64_t bytes_sent_ = 0;
};

// Ranks [first, first + count) of a group, which must outlive it, as a group of their own; for these ranks.
std::unique_ptr<Communicator> part_of(Communicator& group, int first, int count);
// The world of the workers alone, each a machine of its own, since they do not share parameters. `whole` must outlive
// it.
std::unique_ptr<World> world_of_workers(World& whole, int workers);

}  // namespace lockring::dist
