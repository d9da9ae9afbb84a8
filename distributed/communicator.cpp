#include "distributed/communicator.h"

#include "core/error.h"

#include <algorithm>
#include <thread>
#include <utility>

namespace lockring::dist {

void Transport::library_all_reduce(std::span<float>) { fail(ErrorCode::usage, "there is no MPI here to add up with"); }

namespace {

// There is nobody to send to.
class SelfTransport : public Transport {
 public:
  int rank() const override { return 0; }
  int size() const override { return 1; }
  Ticket send(int, int, const void*, std::int64_t) override { return 0; }
  Ticket receive(int, int, void*, std::int64_t) override { return 0; }
  bool done(Ticket) override { return true; }
};

}  // namespace

Communicator::Communicator(std::unique_ptr<Transport> transport)
    : transport_(std::move(transport)),
      name_of_([](int member) { return fmt::format("rank {}", member); }),
      roll_call_(*transport_, kRollCallChannel) {}

std::unique_ptr<Communicator> self_communicator() {
  return std::make_unique<Communicator>(std::make_unique<SelfTransport>());
}

template <class Look>
void Communicator::poll(const std::function<bool()>& ready, Look look) {
  using Clock = std::chrono::steady_clock;
  // Ranks come together within some microseconds; more ranks than cores must let each other run.
  constexpr int kSpins = 2000, kYields = 200;
  constexpr std::chrono::milliseconds kWatch{100};
  for (int i = 0; i < kSpins; ++i)
    if (ready()) return;
  const Clock::time_point start = Clock::now();
  Clock::time_point watched = start;
  for (int i = 0; !ready(); ++i) {
    if (i < kYields)
      std::this_thread::yield();
    else
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    const Clock::time_point now = Clock::now();
    if (watch_ && now - watched > kWatch) {
      watch_();
      watched = now;
    }
    look(now - start);
  }
}

void Communicator::wait(const std::function<bool()>& ready, std::string_view what,
                        const std::function<std::string()>& whom) {
  poll(ready, [&](std::chrono::nanoseconds waited) {
    check(waited < timeout_, ErrorCode::device, "rank {} has waited {:.3g} s for {} in {}", rank(),
          std::chrono::duration<double>(timeout_).count(), whom(), what);
  });
}

void Communicator::wait_together(const std::function<bool()>& ready, std::string_view what,
                                 const std::function<int()>& whom) {
  ++operations_;
  poll_together(ready, what, whom);
}

void Communicator::poll_together(const std::function<bool()>& ready, std::string_view what,
                                 const std::function<int()>& whom) {
  bool answered = false;
  poll(ready, [&](std::chrono::nanoseconds waited) {
    if (waited > timeout_ && !std::exchange(answered, true)) roll_call_.answer(operations_);
    if (waited > timeout_ + timeout_ / 4) fail_late(what, whom());
  });
}

void Communicator::fail_late(std::string_view what, int whom) {
  constexpr std::chrono::milliseconds kMostPatience{500};
  std::string names;
  for (const int member : roll_call_.missing(operations_, std::min(timeout_, kMostPatience)))
    names += (names.empty() ? "" : ", ") + name_of_(member);
  const double seconds = std::chrono::duration<double>(timeout_).count();
  check(names.empty(), ErrorCode::device, "waited more than {:.3g} s in {}; missing: {}", seconds, what, names);
  fail(ErrorCode::device, "waited more than {:.3g} s in {} for {}, though nobody is missing", seconds, what,
       whom < 0 ? "nobody" : name_of_(whom));
}

template <class T>
void Communicator::run(Exchange<T>& exchange, std::span<T> values) {
  exchange.start(values.data());
  wait_together([&] { return exchange.progress(); }, "an all-reduce", [&] { return exchange.waiting_for(); });
}

void Communicator::all_reduce(std::span<float> values, Algorithm algorithm) {
  if (algorithm == Algorithm::mpi) return transport_->library_all_reduce(values);
  if (size() == 1 || values.empty()) return;
  auto& exchange = exchanges_[{algorithm, std::ssize(values)}];
  if (!exchange) exchange = std::make_unique<Exchange<float>>(*transport_, kOwnChannel, algorithm, std::ssize(values));
  run(*exchange, values);
}

void Communicator::all_reduce(std::span<double> values) {
  if (size() == 1 || values.empty()) return;
  auto& exchange = small_exchanges_[std::ssize(values)];
  if (!exchange)
    exchange =
        std::make_unique<Exchange<double>>(*transport_, kOwnChannel, Algorithm::recursive_doubling, std::ssize(values));
  run(*exchange, values);
}

void Communicator::finish(Ticket ticket, int peer) {
  poll_together([&] { return transport_->done(ticket); }, "a broadcast", [&] { return peer; });
}

void Communicator::send(int to, const void* memory, std::int64_t bytes) {
  const auto* from = static_cast<const std::byte*>(memory);
  for (std::int64_t at = 0; at < bytes; at += Transport::kMostBytes)
    finish(transport_->send(to, kOwnChannel, from + at, std::min(bytes - at, Transport::kMostBytes)), to);
}

void Communicator::receive(int from, void* memory, std::int64_t bytes) {
  auto* to = static_cast<std::byte*>(memory);
  for (std::int64_t at = 0; at < bytes; at += Transport::kMostBytes)
    finish(transport_->receive(from, kOwnChannel, to + at, std::min(bytes - at, Transport::kMostBytes)), from);
}

// A binomial tree, one piece after the other, so that pieces follow each other down the tree.
void Communicator::broadcast(std::span<std::byte> bytes, int root) {
  constexpr std::int64_t kPiece = 1 << 20;
  ++operations_;
  const int place = (rank() + size() - root) % size();
  const auto rank_at = [&](int at) { return (at + root) % size(); };
  for (std::int64_t begin = 0; begin < std::ssize(bytes); begin += kPiece) {
    const std::span piece = bytes.subspan(begin, std::min(kPiece, std::ssize(bytes) - begin));
    int distance = 1;
    while (distance < size() && (place & distance) == 0) distance *= 2;
    if (place != 0) receive(rank_at(place - distance), piece.data(), std::ssize(piece));
    for (distance /= 2; distance > 0; distance /= 2)
      if (place + distance < size()) send(rank_at(place + distance), piece.data(), std::ssize(piece));
  }
}

void Communicator::barrier() {
  double nothing[] = {0};
  all_reduce(nothing);
}

std::vector<std::string> Communicator::all_gather(std::string_view text) {
  std::vector<double> lengths(size());
  lengths[rank()] = static_cast<double>(text.size());
  all_reduce(lengths);
  std::vector<std::string> texts(size());
  for (int i = 0; i < size(); ++i) {
    texts[i] = i == rank() ? std::string(text) : std::string(static_cast<std::size_t>(lengths[i]), '\0');
    broadcast(std::as_writable_bytes(std::span(texts[i])), i);
  }
  return texts;
}

}  // namespace lockring::dist
