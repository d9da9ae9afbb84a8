#include "distributed/communicator.h"

#include "core/error.h"

#include <algorithm>
#include <thread>

namespace lockring::dist {
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

Communicator::Communicator(std::unique_ptr<Transport> transport) : transport_(std::move(transport)) {}

std::unique_ptr<Communicator> self_communicator() {
  return std::make_unique<Communicator>(std::make_unique<SelfTransport>());
}

void Communicator::wait(const std::function<bool()>& ready, std::string_view what,
                        const std::function<std::string()>& whom) const {
  // Ranks come together within some microseconds; more ranks than cores must let each other run.
  constexpr int kSpins = 2000, kYields = 200;
  for (int i = 0; i < kSpins; ++i)
    if (ready()) return;
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; !ready(); ++i) {
    if (i < kYields)
      std::this_thread::yield();
    else
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    check(std::chrono::steady_clock::now() - start < timeout_, ErrorCode::device,
          "rank {} has waited {:.3g} s for {} in {}", rank(), std::chrono::duration<double>(timeout_).count(), whom(),
          what);
  }
}

template <class T>
void Communicator::run(Exchange<T>& exchange, std::span<T> values) {
  exchange.start(values.data());
  wait([&] { return exchange.progress(); }, "an all-reduce", [&] { return exchange.waiting_for(); });
}

void Communicator::all_reduce(std::span<float> values, Algorithm algorithm) {
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

void Communicator::finish(Ticket ticket, int peer, std::string_view what) {
  wait([&] { return transport_->done(ticket); }, what, [&] { return fmt::format("rank {}", peer); });
}

void Communicator::send(int to, const void* memory, std::int64_t bytes) {
  const auto* from = static_cast<const std::byte*>(memory);
  for (std::int64_t at = 0; at < bytes; at += Transport::kMostBytes)
    finish(transport_->send(to, kOwnChannel, from + at, std::min(bytes - at, Transport::kMostBytes)), to,
           "sending to it");
}

void Communicator::receive(int from, void* memory, std::int64_t bytes) {
  auto* to = static_cast<std::byte*>(memory);
  for (std::int64_t at = 0; at < bytes; at += Transport::kMostBytes)
    finish(transport_->receive(from, kOwnChannel, to + at, std::min(bytes - at, Transport::kMostBytes)), from,
           "receiving from it");
}

// A binomial tree, one piece after the other, so that pieces follow each other down the tree.
void Communicator::broadcast(std::span<std::byte> bytes, int root) {
  constexpr std::int64_t kPiece = 1 << 20;
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
