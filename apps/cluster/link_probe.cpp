#include "apps/cluster/link_probe.h"

#include "core/stopwatch.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <deque>

namespace lockring::app {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kChannel = 900;
constexpr std::int64_t kStreamBytes = 1 << 20;

// Two ranks that talk while the others wait; one asks and the other answers.
class Pair {
 public:
  Pair(dist::Communicator& ranks, int peer, bool asks)
      : ranks_(ranks), peer_(peer), asks_(asks), memory_(kAhead * kStreamBytes) {}

  // Half the median time of a message there and back.
  double latency() {
    constexpr int kWarmUp = 20, kTrips = 201;
    std::vector<double> times;
    for (int trip = 0; trip < kWarmUp + kTrips; ++trip) {
      const Clock::time_point start = Clock::now();
      transfer(asks_, 8);
      transfer(!asks_, 8);
      if (trip >= kWarmUp) times.push_back(seconds_since(start));
    }
    std::ranges::nth_element(times, times.begin() + kTrips / 2);
    return times[kTrips / 2] / 2;
  }

  // Of a stream of one, two, four ... messages, the first that takes long enough to be timed. Who asks sends it, gets
  // a word when all has arrived, and tells whether it was the last.
  double bandwidth() {
    constexpr double kLongEnough = 0.05;
    constexpr int kMostMessages = 1024;
    for (int messages = 1;; messages *= 2) {
      const Clock::time_point start = Clock::now();
      stream(messages);
      transfer(!asks_, 8);
      const double seconds = seconds_since(start);
      if (asks_) memory_[0] = std::byte{seconds >= kLongEnough || messages >= kMostMessages};
      transfer(asks_, 8);
      if (memory_[0] != std::byte{0}) return static_cast<double>(messages) * kStreamBytes / seconds;
    }
  }

 private:
  static constexpr int kAhead = 3;  // messages on their way at once

  dist::Ticket begin(bool sends, std::byte* memory, std::int64_t bytes) {
    dist::Transport& transport = ranks_.transport();
    return sends ? transport.send(peer_, kChannel, memory, bytes) : transport.receive(peer_, kChannel, memory, bytes);
  }
  void finish(dist::Ticket ticket) {
    ranks_.wait([&] { return ranks_.transport().done(ticket); }, "the measurement of their link",
                [this] { return fmt::format("rank {}", peer_); });
  }
  void transfer(bool sends, std::int64_t bytes) { finish(begin(sends, memory_.data(), bytes)); }

  void stream(int messages) {
    std::deque<dist::Ticket> tickets;
    for (int i = 0; i < messages; ++i) {
      if (tickets.size() == kAhead) {
        finish(tickets.front());
        tickets.pop_front();
      }
      tickets.push_back(begin(asks_, memory_.data() + i % kAhead * kStreamBytes, kStreamBytes));
    }
    for (const dist::Ticket ticket : tickets) finish(ticket);
  }

  dist::Communicator& ranks_;
  int peer_;
  bool asks_;
  std::vector<std::byte> memory_;
};

Link measure(dist::Communicator& all, int from, int to) {
  const bool asks = all.rank() == from;
  Pair pair(all, asks ? to : from, asks);
  Link link{from, to, 0, 0};
  link.latency_seconds = pair.latency();
  link.bytes_per_second = pair.bandwidth();
  return link;
}

// What the ranks that asked have measured, on all ranks, by the rank that asked.
std::vector<Link> shared(dist::Communicator& all, const std::vector<Link>& own) {
  std::vector<double> table(static_cast<std::size_t>(all.size()) * 3);
  for (const Link& link : own) {
    double* row = &table[static_cast<std::size_t>(link.from) * 3];
    row[0] = link.to;
    row[1] = link.latency_seconds;
    row[2] = link.bytes_per_second;
  }
  all.all_reduce(std::span(table));
  std::vector<Link> links;
  for (int from = 0; from < all.size(); ++from)
    if (const double* row = &table[static_cast<std::size_t>(from) * 3]; row[2] > 0)
      links.push_back({from, static_cast<int>(row[0]), row[1], row[2]});
  return links;
}

// The first and the second rank of each machine; the second is -1 where there is none.
std::vector<std::array<int, 2>> first_ranks(dist::World& world) {
  std::vector<std::array<int, 2>> machines(world.nodes(), {-1, -1});
  const std::vector<std::string> places = world.all().all_gather(std::to_string(world.node_index()));
  for (int rank = 0; rank < world.size(); ++rank) {
    auto& [first, second] = machines[std::stoi(places[rank])];
    if (first < 0)
      first = rank;
    else if (second < 0)
      second = rank;
  }
  return machines;
}

}  // namespace

std::vector<Link> probe_nodes(dist::World& world) {
  std::vector<Link> own;
  for (const auto& [first, second] : first_ranks(world))
    if (second >= 0 && (world.rank() == first || world.rank() == second)) {
      const Link link = measure(world.all(), first, second);
      if (world.rank() == first) own.push_back(link);
    }
  return shared(world.all(), own);
}

// Links between machines 0 and 1, 2 and 3, ... first, then between 1 and 2, 3 and 4, ...
std::vector<Link> probe_network(dist::World& world) {
  const std::vector<std::array<int, 2>> machines = first_ranks(world);
  std::vector<Link> own;
  for (const int odd : {0, 1}) {
    for (int machine = odd; machine + 1 < world.nodes(); machine += 2) {
      const int from = machines[machine][0], to = machines[machine + 1][0];
      if (world.rank() == from) own.push_back(measure(world.all(), from, to));
      if (world.rank() == to) (void)measure(world.all(), from, to);
    }
    world.all().barrier();
  }
  return shared(world.all(), own);
}

}  // namespace lockring::app
