#include "distributed/roster.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>

namespace lockring::dist {
namespace {

// Step and phase in one word, so that they are of one moment.
constexpr int kPhaseBits = 8;

const char* text_of(Phase phase) {
  switch (phase) {
    case Phase::start:
      return "start";
    case Phase::gradient:
      return "gradient";
    case Phase::exchange:
      return "exchange";
    case Phase::update:
      return "update";
    case Phase::evaluation:
      return "evaluation";
    case Phase::saving:
      return "saving";
  }
  return "";
}

}  // namespace

// Zeros are a valid one: a rank that has not come yet.
struct alignas(64) Roster::Entry {
  std::atomic<std::int64_t> process;
  std::atomic<std::int64_t> place;
  std::atomic<bool> left;
};

// A descriptor a process, readable once it has ended; unlike its number, it cannot come to mean another one.
class Roster::Watches {
 public:
  explicit Watches(int ranks) : files_(ranks, -1) {}
  ~Watches() {
    for (const int file : files_)
      if (file >= 0) close(file);
  }
  Watches(const Watches&) = delete;
  Watches& operator=(const Watches&) = delete;

  void open(int rank, std::int64_t process) {
    files_[rank] = static_cast<int>(syscall(SYS_pidfd_open, static_cast<pid_t>(process), 0));
  }
  bool ended(int rank) const {
    pollfd file{.fd = files_[rank], .events = POLLIN, .revents = 0};
    return file.fd >= 0 && poll(&file, 1, 0) == 1;
  }

 private:
  std::vector<int> files_;  // -1: itself, or the system has no such thing
};

Roster::Roster(std::shared_ptr<std::byte> memory, int ranks, int rank)
    : memory_(std::move(memory)), ranks_(ranks), rank_(rank) {
  entry(rank).process = getpid();
}

std::int64_t Roster::bytes(int ranks) { return ranks * static_cast<std::int64_t>(sizeof(Entry)); }

Roster::Entry& Roster::entry(int rank) const { return reinterpret_cast<Entry*>(memory_.get())[rank]; }

void Roster::watch() {
  auto watches = std::make_shared<Watches>(ranks_);
  for (int rank = 0; rank < ranks_; ++rank)
    if (rank != rank_) watches->open(rank, entry(rank).process);
  watches_ = std::move(watches);
}

void Roster::note(std::int64_t step, Phase phase) const {
  entry(rank_).place.store(step << kPhaseBits | static_cast<std::int64_t>(phase), std::memory_order_relaxed);
}

void Roster::leave() const { entry(rank_).left = true; }

Phase Roster::phase_of(int rank) const {
  return static_cast<Phase>(entry(rank).place.load(std::memory_order_relaxed) & ((1 << kPhaseBits) - 1));
}

std::string Roster::place_of(int rank) const {
  const std::int64_t place = entry(rank).place.load(std::memory_order_relaxed);
  const char* phase = text_of(static_cast<Phase>(place & ((1 << kPhaseBits) - 1)));
  return place >> kPhaseBits == 0 ? phase : fmt::format("step {}, {}", place >> kPhaseBits, phase);
}

std::vector<int> Roster::dead() const {
  std::vector<int> ranks;
  for (int rank = 0; rank < ranks_ && watches_ != nullptr; ++rank)
    if (watches_->ended(rank) && !entry(rank).left) ranks.push_back(rank);
  return ranks;
}

}  // namespace lockring::dist
