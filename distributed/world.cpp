#include "distributed/world.h"

#include "core/allocator.h"
#include "core/error.h"
#include "distributed/shared_memory.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>

namespace lockring::dist {
namespace {

// Of a process that nobody started others with.
class SelfWorld final : public World {
 public:
  SelfWorld() { set_groups(self_communicator(), self_communicator(), self_communicator()); }

  [[noreturn]] void abort(int exit_code) override { std::_Exit(exit_code); }
  std::string mpi_version() const override { return "none"; }
};

}  // namespace

void World::set_groups(std::unique_ptr<Communicator> all, std::unique_ptr<Communicator> node,
                       std::unique_ptr<Communicator> across) {
  all_ = std::move(all);
  node_ = std::move(node);
  across_ = std::move(across);
  std::array<char, 256> host{};
  gethostname(host.data(), host.size() - 1);
  hosts_ = all_->all_gather(host.data());
  // A machine is known by its first rank.
  const std::string first = node_->all_gather(std::to_string(all_->rank()))[0];
  std::vector<std::string> machines;
  for (const std::string& machine : all_->all_gather(first)) {
    const auto found = std::ranges::find(machines, machine) - machines.begin();
    if (found == std::ssize(machines)) {
      machines.push_back(machine);
      node_sizes_.push_back(0);
    }
    ++node_sizes_[found];
    nodes_of_.push_back(static_cast<int>(found));
  }
  node_index_ = static_cast<int>(std::ranges::find(machines, first) - machines.begin());
  start_roster();
  for (Communicator* group : {all_.get(), node_.get(), across_.get()}) name_members(*group);
}

void World::start_roster() {
  for (const std::string& rank : node_->all_gather(std::to_string(all_->rank())))
    node_ranks_.push_back(std::stoi(rank));
  const std::int64_t bytes = Roster::bytes(node_->size());
  std::shared_ptr<std::byte> memory = share_memory(*node_, bytes);
  if (memory == nullptr) {  // set_groups() was told so, and each rank is a machine of its own
    memory.reset(static_cast<std::byte*>(allocate(bytes)), [bytes](std::byte* own) { deallocate(own, bytes); });
    std::fill_n(memory.get(), bytes, std::byte{0});
  }
  roster_ = Roster(std::move(memory), node_->size(), node_->rank());
  node_->barrier();
  roster_.watch();
}

void World::name_members(Communicator& group) {
  std::vector<int> ranks;
  for (const std::string& rank : group.all_gather(std::to_string(all_->rank()))) ranks.push_back(std::stoi(rank));
  group.set_names([this, ranks](int member) { return place_of(ranks[member]); });
  group.set_watch([this] {
    const std::string message = lost();
    check(message.empty(), ErrorCode::device, "{}", message);
  });
}

void World::leave_groups() {
  all_.reset();
  node_.reset();
  across_.reset();
}

std::string World::name() const {
  return all_->size() == 1 ? "" : fmt::format("rank {} on {}", all_->rank(), hosts_[all_->rank()]);
}

std::string World::place() const {
  return all_->size() == 1 ? "" : fmt::format("{}, {}", name(), roster_.place_of(node_->rank()));
}

std::string World::place_of(int rank) const {
  const auto found = std::ranges::find(node_ranks_, rank) - node_ranks_.begin();
  const std::string name = fmt::format("rank {} on {}", rank, hosts_[rank]);
  return found == std::ssize(node_ranks_) ? name
                                          : fmt::format("{} ({})", name, roster_.place_of(static_cast<int>(found)));
}

std::string World::lost() const {
  const std::vector<int> dead = roster_.dead();
  return dead.empty() ? "" : place_of(node_ranks_[dead[0]]) + " has died";
}

void World::set_timeout(std::chrono::milliseconds timeout) {
  for (Communicator* group : {all_.get(), node_.get(), across_.get()}) group->set_timeout(timeout);
}

std::unique_ptr<World> alone() { return std::make_unique<SelfWorld>(); }

std::shared_ptr<std::byte> World::share(std::int64_t bytes) { return share_memory(node(), bytes); }

}  // namespace lockring::dist
