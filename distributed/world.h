// All ranks of a job, and where they are.
#pragma once

#include "distributed/communicator.h"
#include "distributed/roster.h"

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace lockring::dist {

// One a process, made by open_world() on the thread that will use it. Every rank calls the same functions in the same
// order.
class World {
 public:
  virtual ~World() = default;

  Communicator& all() { return *all_; }
  // The ranks on this machine, which can share memory; in the order of all().
  Communicator& node() { return *node_; }
  // The ranks that have the same place on their machines as this one.
  Communicator& across() { return *across_; }

  int rank() const { return all_->rank(); }
  int size() const { return all_->size(); }
  int nodes() const { return static_cast<int>(node_sizes_.size()); }
  // Machines are numbered in the order of their first ranks.
  int node_index() const { return node_index_; }
  const std::vector<int>& node_sizes() const { return node_sizes_; }
  // The machine of a rank.
  int node_of(int rank) const { return nodes_of_[rank]; }
  // The name of a rank's machine.
  const std::string& host(int rank) const { return hosts_[rank]; }
  // "rank 3 on node7"; empty for a process on its own.
  std::string name() const;
  // Says what this rank does now: its place in messages, its own and those of others who miss it. Any thread.
  void note(std::int64_t step, Phase phase) const { roster_.note(step, phase); }
  // "rank 3 on node7, step 12, exchange"; empty for a process on its own.
  std::string place() const;
  // The same of any rank, as far as it is known here: what ranks of other machines do is not.
  std::string place_of(int rank) const;
  std::string place_of_neighbour(int node_rank) const { return place_of(node_ranks_[node_rank]); }
  // What ranks of this machine do.
  const Roster& roster() const { return roster_; }
  // "rank 3 on node7 (step 12, gradient) has died" if one of this machine has; empty while all live.
  std::string lost() const;

  // The longest that any rank waits for others.
  void set_timeout(std::chrono::milliseconds timeout);

  // Zeroed memory that all ranks of node() see; freed when the last lets go, or dies. Null, on all of them, where one
  // cannot have it: then messages must do.
  std::shared_ptr<std::byte> share(std::int64_t bytes);

  // Ends the job on all ranks, at once; for a rank that cannot go on.
  [[noreturn]] virtual void abort(int exit_code) = 0;
  // The MPI that carries messages: "Open MPI 4.1.4", or "none".
  virtual std::string mpi_version() const = 0;
  // How many threads may use it, in MPI's words: "serialized", "multiple"; "none" without it.
  virtual std::string thread_level() const { return "none"; }

 protected:
  // Takes the three groups and finds out who is where.
  void set_groups(std::unique_ptr<Communicator> all, std::unique_ptr<Communicator> node,
                  std::unique_ptr<Communicator> across);
  void leave_groups();
  // For those who end the job with a message of their own.
  void leave_roster() const { roster_.leave(); }

 private:
  void start_roster();
  void name_members(Communicator& group);

  std::unique_ptr<Communicator> all_;
  std::unique_ptr<Communicator> node_;
  std::unique_ptr<Communicator> across_;
  int node_index_ = 0;
  std::vector<int> node_sizes_;
  std::vector<int> nodes_of_;  // [rank]
  std::vector<std::string> hosts_;
  std::vector<int> node_ranks_;  // of node()'s members among all
  Roster roster_;
};

// A world of this process alone.
std::unique_ptr<World> alone();

// The world that mpirun started, or one of this process alone. Throws Error{device} if MPI cannot be had.
std::unique_ptr<World> open_world();
// "Open MPI v4.1.4", also where mpirun started nothing; empty in a program without MPI.
std::string mpi_library();

}  // namespace lockring::dist
