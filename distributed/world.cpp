#include "distributed/world.h"

#include "distributed/self_world.h"
#include "distributed/shared_memory.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>

namespace lockring::dist {

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
  }
  node_index_ = static_cast<int>(std::ranges::find(machines, first) - machines.begin());
}

void World::leave_groups() {
  all_.reset();
  node_.reset();
  across_.reset();
}

std::string World::name() const {
  return all_->size() == 1 ? "" : fmt::format("rank {} on {}", all_->rank(), hosts_[all_->rank()]);
}

std::unique_ptr<World> alone() { return std::make_unique<SelfWorld>(); }

std::shared_ptr<std::byte> World::share(std::int64_t bytes) { return share_memory(node(), bytes); }

}  // namespace lockring::dist
