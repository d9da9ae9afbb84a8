// A group of ranks and what they do together. Every rank of the group calls the same functions in the same order.
#pragma once

#include "distributed/exchange.h"
#include "distributed/roll_call.h"
#include "distributed/transport.h"

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lockring::dist {

// Belongs to one thread of its process at a time. A wait that takes longer than the timeout throws Error{device} that
// says in what this rank waited, and who is missing there: ranks that wait too answer a roll call, which takes a
// quarter of the timeout more.
class Communicator {
 public:
  static constexpr std::chrono::seconds kTimeout{60};

  explicit Communicator(std::unique_ptr<Transport> transport);

  int rank() const { return transport_->rank(); }
  int size() const { return transport_->size(); }

  // Sums over the ranks, in place; the same bits on every rank.
  void all_reduce(std::span<float> values, Algorithm algorithm);
  void all_reduce(std::span<double> values);  // few
  // Everyone gets the bytes of `root`.
  void broadcast(std::span<std::byte> bytes, int root);
  // Returns when all have called it.
  void barrier();
  // The texts of all ranks, in their order.
  std::vector<std::string> all_gather(std::string_view text);

  // Polls until `ready`, spinning first, then sleeping. `what` and `whom` are for the message: "the barrier", "rank 3".
  // Any thread may call it.
  void wait(const std::function<bool()>& ready, std::string_view what, const std::function<std::string()>& whom);
  // The same in an operation that the callers carry out together, all ranks of the group, in the order of the others:
  // with a roll call. `whom` is the member whose message is next.
  void wait_together(const std::function<bool()>& ready, std::string_view what, const std::function<int()>& whom);
  void set_timeout(std::chrono::milliseconds timeout) { timeout_ = timeout; }
  std::chrono::milliseconds timeout() const { return timeout_; }
  // What members are called in messages: "rank 3 on node7".
  void set_names(std::function<std::string(int member)> name_of) { name_of_ = std::move(name_of); }
  // Called several times a second while this rank waits long; may throw to end that.
  void set_watch(std::function<void()> watch) { watch_ = std::move(watch); }

  Transport& transport() { return *transport_; }

 private:
  // Channels below this are for exchanges that callers make themselves.
  static constexpr int kOwnChannel = 1000, kRollCallChannel = 1001;

  template <class T>
  void run(Exchange<T>& exchange, std::span<T> values);
  void send(int to, const void* memory, std::int64_t bytes);
  void receive(int from, void* memory, std::int64_t bytes);
  void finish(Ticket ticket, int peer);
  // Calls look(waited) now and then.
  template <class Look>
  void poll(const std::function<bool()>& ready, Look look);
  void poll_together(const std::function<bool()>& ready, std::string_view what, const std::function<int()>& whom);
  [[noreturn]] void fail_late(std::string_view what, int whom);

  std::unique_ptr<Transport> transport_;
  std::chrono::milliseconds timeout_ = kTimeout;
  std::function<std::string(int)> name_of_;
  std::function<void()> watch_;
  RollCall roll_call_;
  std::int64_t operations_ = 0;
  // Made for each length and algorithm that was asked for.
  std::map<std::pair<Algorithm, std::int64_t>, std::unique_ptr<Exchange<float>>> exchanges_;
  std::map<std::int64_t, std::unique_ptr<Exchange<double>>> small_exchanges_;
};

// A group of one, for a process on its own.
std::unique_ptr<Communicator> self_communicator();

}  // namespace lockring::dist
