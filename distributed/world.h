// All ranks of a job, and where they are.
#pragma once

#include "distributed/communicator.h"

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
  // The name of a rank's machine.
  const std::string& host(int rank) const { return hosts_[rank]; }
  // "rank 3 on node7"; empty for a process on its own.
  std::string name() const;

  // Zeroed memory that all ranks of node() see; freed when the last lets go, or dies. Null, on all of them, where one
  // cannot have it: then messages must do.
  std::shared_ptr<std::byte> share(std::int64_t bytes);

  // Ends the job on all ranks, at once; for a rank that cannot go on.
  [[noreturn]] virtual void abort(int exit_code) = 0;
  // What carries messages: "Open MPI 4.1.4", or "none".
  virtual std::string library() const = 0;
  // How many threads may use the library, in MPI's words: "serialized", "multiple"; "none" without it.
  virtual std::string thread_level() const { return "none"; }
  // The library's own all-reduce, for comparison. Throws Error{usage} without one.
  virtual void library_all_reduce(std::span<float> values) = 0;

 protected:
  // Takes the three groups and finds out who is where.
  void set_groups(std::unique_ptr<Communicator> all, std::unique_ptr<Communicator> node,
                  std::unique_ptr<Communicator> across);
  void leave_groups();

 private:
  std::unique_ptr<Communicator> all_;
  std::unique_ptr<Communicator> node_;
  std::unique_ptr<Communicator> across_;
  int node_index_ = 0;
  std::vector<int> node_sizes_;
  std::vector<std::string> hosts_;
};

// A world of this process alone.
std::unique_ptr<World> alone();

// The world that mpirun started, or one of this process alone. Throws Error{device} if MPI cannot be had.
std::unique_ptr<World> open_world();

}  // namespace lockring::dist
