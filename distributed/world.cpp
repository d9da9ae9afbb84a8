#include "distributed/world.h"

#include "distributed/shared_memory.h"

#include <fmt/format.h>
#include <unistd.h>

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
  // The first rank of each machine tells how many there are.
  const std::vector<std::string> sizes =
      all_->all_gather(node_->rank() == 0 ? std::to_string(node_->size()) : std::string());
  for (const std::string& text : sizes)
    if (!text.empty()) node_sizes_.push_back(std::stoi(text));
}

void World::leave_groups() {
  all_.reset();
  node_.reset();
  across_.reset();
}

std::string World::name() const {
  return all_->size() == 1 ? "" : fmt::format("rank {} on {}", all_->rank(), hosts_[all_->rank()]);
}

std::shared_ptr<std::byte> World::share(std::int64_t bytes) { return share_memory(node(), bytes); }

}  // namespace lockring::dist
