#include "distributed/meeting.h"

#include <algorithm>
#include <new>

namespace lockring::dist {

// Each member writes its own count, on a cache line of its own.
struct Meeting::Shared {
  struct alignas(64) Count {
    std::atomic<std::uint32_t> meetings{0};
  };

  explicit Shared(int members) : barrier(members) {}
  Count* counts() { return reinterpret_cast<Count*>(this + 1); }

  alignas(64) Barrier barrier;
};

Meeting::Meeting(int members)
    : Meeting(std::shared_ptr<std::byte>(static_cast<std::byte*>(operator new(bytes(members), std::align_val_t(64))),
                                         [](std::byte* memory) { operator delete(memory, std::align_val_t(64)); }),
              members) {
  create(memory_.get(), members);
}

Meeting::Meeting(std::shared_ptr<std::byte> memory, int members) : memory_(std::move(memory)), members_(members) {}

std::int64_t Meeting::bytes(int members) {
  return static_cast<std::int64_t>(sizeof(Shared)) + members * static_cast<std::int64_t>(sizeof(Shared::Count));
}

void Meeting::create(std::byte* memory, int members) {
  auto* shared = new (memory) Shared(members);
  for (int member = 0; member < members; ++member) new (shared->counts() + member) Shared::Count;
}

Meeting::Shared& Meeting::shared() const { return *std::launder(reinterpret_cast<Shared*>(memory_.get())); }

bool Meeting::wait(int member) {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::milliseconds kLook{100};
  shared().counts()[member].meetings.fetch_add(1, std::memory_order_relaxed);
  Barrier& barrier = shared().barrier;
  const std::uint32_t arrival = barrier.arrive();
  const Clock::time_point start = Clock::now();
  for (;;) {
    if (const std::optional<bool> met = barrier.await(arrival, std::min(kLook, timeout_))) return *met;
    if (!waits_on(member, std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - start)))
      barrier.give_up();
  }
}

bool Meeting::waits_on(int member, std::chrono::milliseconds waited) const {
  return patience_ ? patience_(missing(member), waited) : waited < timeout_;
}

void Meeting::abort() { shared().barrier.abort(); }

bool Meeting::late() const { return shared().barrier.late(); }

std::vector<int> Meeting::missing(int member) const {
  const std::uint32_t own = shared().counts()[member].meetings;
  std::vector<int> members;
  for (int other = 0; other < members_; ++other)
    if (static_cast<std::int32_t>(shared().counts()[other].meetings - own) < 0) members.push_back(other);
  return members;
}

}  // namespace lockring::dist
