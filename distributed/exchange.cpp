#include "distributed/exchange.h"

#include "core/bf16.h"

#include <algorithm>
#include <cassert>

namespace lockring::dist {
namespace {

// Segments that may be on their way to us at once, and as many to others: so many that the wire stays busy while this
// rank computes.
constexpr std::size_t kAhead = 8;

template <class T>
void add(T* __restrict to, const T* __restrict from, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) to[i] += from[i];
}

constexpr std::int64_t wire_bytes(Wire wire, std::size_t element) {
  return wire == Wire::bf16 ? 2 : static_cast<std::int64_t>(element);
}

}  // namespace

std::string_view to_string(Wire wire) { return wire == Wire::bf16 ? "bf16" : "f32"; }

template <class T>
Exchange<T>::Exchange(Transport& transport, int channel, Algorithm algorithm, std::int64_t elements, Wire wire,
                      std::int64_t segment_bytes)
    : transport_(transport),
      channel_(channel),
      wire_(wire),
      wire_bytes_(wire_bytes(wire, sizeof(T))),
      segment_elements_(std::max<std::int64_t>(segment_bytes / wire_bytes_, 1)),
      rounds_(make_schedule(algorithm, transport.size(), transport.rank(), elements)) {
  assert(wire == Wire::f32 || sizeof(T) == sizeof(float));
  bool stages = wire == Wire::bf16;
  for (int i = 0; i < static_cast<int>(rounds_.size()); ++i) {
    const Round& round = rounds_[i];
    add_segments(sends_, i, round.to, round.sent, false);
    add_segments(receives_, i, round.from, round.received, round.adds);
    stages |= round.adds;
  }
  find_dependencies();
  segment_elements_ = std::min(segment_elements_, elements);
  if (stages) arrivals_.resize(kAhead * segment_elements_ * wire_bytes_);
  if (wire == Wire::bf16) departures_.resize(kAhead * segment_elements_);
  for (std::size_t i = 0; i < kAhead && !departures_.empty(); ++i)
    free_departures_.push_back(departures_.data() + i * segment_elements_);
  receiving_.resize(kAhead);
  sending_.reserve(kAhead);
}

template <class T>
void Exchange<T>::add_segments(std::vector<Segment>& to, int round, int peer, Slice part, bool adds) {
  for (std::int64_t begin = part.begin; begin < part.end; begin += segment_elements_)
    to.push_back({round, peer, {begin, std::min(begin + segment_elements_, part.end)}, adds, 0});
}

// What is sent may hold what was received before. Where a round passes on just the part that the one before it
// received, as in the ring, each segment follows its own; else all that was received before must be there. And what
// changes a part waits for those who send it as it was.
template <class T>
void Exchange<T>::find_dependencies() {
  const auto first_of = [](const std::vector<Segment>& segments, int round) {
    return static_cast<int>(std::ranges::lower_bound(segments, round, {}, &Segment::round) - segments.begin());
  };
  const auto index_in = [this](const Slice& part, std::int64_t element) {
    return static_cast<int>((element - part.begin) / segment_elements_);
  };
  for (Segment& sent : sends_) {
    const bool follows = sent.round > 0 && rounds_[sent.round].sent == rounds_[sent.round - 1].received;
    sent.needed = follows
                      ? first_of(receives_, sent.round - 1) + index_in(rounds_[sent.round].sent, sent.part.begin) + 1
                      : first_of(receives_, sent.round);
  }
  for (Segment& received : receives_)
    for (int round = received.round; round >= 0 && received.needed == 0; --round)
      if (const Slice& sent = rounds_[round].sent; sent.overlaps(received.part))
        received.needed = first_of(sends_, round) + index_in(sent, std::min(received.part.end, sent.end) - 1) + 1;
}

template <class T>
void Exchange<T>::start(T* values) {
  assert(!running());
  values_ = values;
  sent_ = posted_ = taken_ = 0;
  progress();
}

template <class T>
bool Exchange<T>::progress() {
  if (!running()) return true;
  for (bool moved = true; moved;) {
    // In order: each question may cost the library a call of the system.
    while (!sending_.empty() && transport_.done(sending_.front().ticket)) {
      if (sending_.front().staged != nullptr) free_departures_.push_back(sending_.front().staged);
      sending_.erase(sending_.begin());
    }
    moved = take_received();
    moved |= post_receives();
    moved |= post_sends();
  }
  if (taken_ < receives_.size() || sent_ < sends_.size() || !sending_.empty()) return false;
  values_ = nullptr;
  return true;
}

template <class T>
bool Exchange<T>::take_received() {
  const std::size_t before = taken_;
  while (taken_ < posted_) {
    const Segment& segment = receives_[taken_];
    Ticket& ticket = receiving_[taken_ % kAhead];
    if (ticket >= 0 && !transport_.done(ticket)) break;
    ticket = -1;  // arrived
    if (is_staged(segment)) {
      if (!may_change(segment)) break;
      take(taken_);
    }
    ++taken_;
  }
  return taken_ > before;
}

template <class T>
void Exchange<T>::take(std::size_t receive) {
  const Segment& segment = receives_[receive];
  T* to = values_ + segment.part.begin;
  const std::byte* from = memory_for(receive);
  if (wire_ == Wire::f32) return add(to, reinterpret_cast<const T*>(from), segment.part.size());
  const auto* rounded = reinterpret_cast<const std::uint16_t*>(from);
  for (std::int64_t i = 0; i < segment.part.size(); ++i) to[i] = from_bf16(rounded[i]) + (segment.adds ? to[i] : T(0));
}

template <class T>
bool Exchange<T>::post_receives() {
  const std::size_t before = posted_;
  for (; posted_ < receives_.size() && posted_ < taken_ + kAhead; ++posted_) {
    const Segment& segment = receives_[posted_];
    if (!is_staged(segment) && !may_change(segment)) break;
    receiving_[posted_ % kAhead] =
        transport_.receive(segment.peer, channel_, memory_for(posted_), bytes_of(segment.part));
  }
  return posted_ > before;
}

template <class T>
bool Exchange<T>::post_sends() {
  const std::size_t before = sent_;
  for (; sent_ < sends_.size() && sending_.size() < kAhead; ++sent_) {
    if (sends_[sent_].needed > static_cast<int>(taken_)) break;
    const Segment& segment = sends_[sent_];
    std::uint16_t* staged = wire_ == Wire::bf16 ? stage(segment) : nullptr;
    const void* memory = staged == nullptr ? static_cast<const void*>(values_ + segment.part.begin) : staged;
    sending_.push_back({transport_.send(segment.peer, channel_, memory, bytes_of(segment.part)), segment.part, staged});
  }
  return sent_ > before;
}

// What replaces others' values replaces the sender's own as well: then all hold the same.
template <class T>
std::uint16_t* Exchange<T>::stage(const Segment& sent) {
  std::uint16_t* staged = free_departures_.back();
  free_departures_.pop_back();
  T* from = values_ + sent.part.begin;
  for (std::int64_t i = 0; i < sent.part.size(); ++i) staged[i] = to_bf16(static_cast<float>(from[i]));
  if (!rounds_[sent.round].adds)
    for (std::int64_t i = 0; i < sent.part.size(); ++i) from[i] = from_bf16(staged[i]);
  return staged;
}

template <class T>
bool Exchange<T>::may_change(const Segment& received) const {
  return static_cast<int>(sent_) >= received.needed &&
         std::ranges::none_of(sending_, [&](const Sending& s) { return s.part.overlaps(received.part); });
}

template <class T>
std::byte* Exchange<T>::memory_for(std::size_t receive) {
  const Segment& segment = receives_[receive];
  if (is_staged(segment)) return arrivals_.data() + receive % kAhead * segment_elements_ * wire_bytes_;
  return reinterpret_cast<std::byte*>(values_ + segment.part.begin);
}

template <class T>
int Exchange<T>::waiting_for() const {
  if (taken_ < receives_.size()) return receives_[taken_].peer;
  return sent_ > 0 ? sends_[sent_ - 1].peer : -1;
}

template class Exchange<float>;
template class Exchange<double>;

}  // namespace lockring::dist
