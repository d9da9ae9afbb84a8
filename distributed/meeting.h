// Where the replicas of a machine meet, threads of one process or of several that share memory.
#pragma once

#include "core/barrier.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace lockring::dist {

// A handle on a barrier and on what each member has come to, which lie in the memory given. Member m calls wait(m) on a
// thread of its own.
class Meeting {
 public:
  // Of threads of this process.
  explicit Meeting(int members);
  // Of several processes: each passes the same memory of bytes(members), which one of them has made with create().
  Meeting(std::shared_ptr<std::byte> memory, int members);
  static std::int64_t bytes(int members);
  static void create(std::byte* memory, int members);

  int members() const { return members_; }
  // True once all members have come. False if one has failed, or if those who waited gave up: all get that, and nobody
  // meets again.
  [[nodiscard]] bool wait(int member);
  void abort();
  void set_timeout(std::chrono::milliseconds timeout) { timeout_ = timeout; }
  // Asked by each that waits, several times a second, whether to wait on; instead of the timeout.
  using Patience = std::function<bool(const std::vector<int>& missing, std::chrono::milliseconds waited)>;
  void set_patience(Patience patience) { patience_ = std::move(patience); }
  // After a wait that failed: whether that is because of those who did not come...
  bool late() const;
  // ... who have come to fewer meetings than `member`.
  std::vector<int> missing(int member) const;

 private:
  struct Shared;
  Shared& shared() const;
  bool waits_on(int member, std::chrono::milliseconds waited) const;

  std::shared_ptr<std::byte> memory_;
  int members_;
  std::chrono::milliseconds timeout_{std::chrono::hours(24 * 365)};
  Patience patience_;
};

}  // namespace lockring::dist
