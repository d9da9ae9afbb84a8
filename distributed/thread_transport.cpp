#include "distributed/thread_transport.h"

#include "core/error.h"

#include <cstring>
#include <deque>
#include <map>
#include <mutex>

namespace lockring::dist {
namespace {

// A message that its receiver has not asked for yet, or a receive whose message has not come.
struct Posted {
  int peer;
  int channel;
  const void* from;
  void* to;
  std::int64_t bytes;
  Ticket ticket;
};

struct Tickets {
  std::vector<bool> finished;  // [ticket]
  std::vector<Ticket> free;

  Ticket take() {
    if (free.empty()) {
      free.push_back(static_cast<Ticket>(finished.size()));
      finished.push_back(false);
    }
    const Ticket ticket = free.back();
    free.pop_back();
    finished[ticket] = false;
    return ticket;
  }
};

// What the ranks share. A message is copied once, by whoever comes second.
class Switchboard {
 public:
  explicit Switchboard(int size) : waiting_(size), tickets_(size) {}

  Ticket post(int rank, Posted message) {
    const std::lock_guard lock(mutex_);
    message.ticket = tickets_[rank].take();
    const bool sends = message.from != nullptr;
    const int receiver = sends ? message.peer : rank;
    const int sender = sends ? rank : message.peer;
    auto& queue = waiting_[receiver][{sender, message.channel}];
    if (queue.empty() || (queue.front().from != nullptr) == sends) {
      queue.push_back(message);
      return message.ticket;
    }
    const Posted other = queue.front();
    queue.pop_front();
    check(other.bytes == message.bytes, ErrorCode::device, "a message of {} bytes was expected to have {}",
          sends ? message.bytes : other.bytes, sends ? other.bytes : message.bytes);
    std::memcpy(sends ? other.to : message.to, sends ? message.from : other.from, message.bytes);
    tickets_[rank].finished[message.ticket] = true;
    tickets_[message.peer].finished[other.ticket] = true;
    return message.ticket;
  }

  // Nobody will fill, or read, memory of a rank that has gone.
  void withdraw(int rank) {
    const std::lock_guard lock(mutex_);
    for (int receiver = 0; receiver < std::ssize(waiting_); ++receiver)
      for (auto& [from, queue] : waiting_[receiver])
        std::erase_if(queue, [&, sender = from.first](const Posted& message) {
          return (message.from != nullptr ? sender : receiver) == rank;
        });
  }

  bool done(int rank, Ticket ticket) {
    const std::lock_guard lock(mutex_);
    Tickets& tickets = tickets_[rank];
    if (!tickets.finished[ticket]) return false;
    tickets.free.push_back(ticket);
    return true;
  }

 private:
  std::mutex mutex_;
  std::vector<std::map<std::pair<int, int>, std::deque<Posted>>> waiting_;  // [receiver][{sender, channel}]
  std::vector<Tickets> tickets_;                                            // [rank]
};

class ThreadTransport : public Transport {
 public:
  ThreadTransport(std::shared_ptr<Switchboard> switchboard, int rank, int size)
      : switchboard_(std::move(switchboard)), rank_(rank), size_(size) {}
  ~ThreadTransport() override { switchboard_->withdraw(rank_); }

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  Ticket send(int to, int channel, const void* memory, std::int64_t bytes) override {
    return switchboard_->post(rank_, {to, channel, memory, nullptr, bytes, 0});
  }
  Ticket receive(int from, int channel, void* memory, std::int64_t bytes) override {
    return switchboard_->post(rank_, {from, channel, nullptr, memory, bytes, 0});
  }
  bool done(Ticket ticket) override { return switchboard_->done(rank_, ticket); }

 private:
  std::shared_ptr<Switchboard> switchboard_;
  int rank_;
  int size_;
};

}  // namespace

std::vector<std::unique_ptr<Transport>> thread_transports(int size) {
  const auto switchboard = std::make_shared<Switchboard>(size);
  std::vector<std::unique_ptr<Transport>> transports;
  for (int rank = 0; rank < size; ++rank)
    transports.push_back(std::make_unique<ThreadTransport>(switchboard, rank, size));
  return transports;
}

}  // namespace lockring::dist
