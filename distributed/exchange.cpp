#include "distributed/exchange.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>

namespace lockring::dist {
namespace {

// Segments that may be on their way to us at once: one that is added, and two behind it; and as many to others.
constexpr std::size_t kAhead = 3;

template <class T>
void add(T* __restrict to, const T* __restrict from, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) to[i] += from[i];
}

}  // namespace

template <class T>
Exchange<T>::Exchange(Transport& transport, int channel, Algorithm algorithm, std::int64_t elements,
                      std::int64_t segment_bytes)
    : transport_(transport),
      channel_(channel),
      segment_elements_(std::max<std::int64_t>(segment_bytes / static_cast<std::int64_t>(sizeof(T)), 1)),
      rounds_(make_schedule(algorithm, transport.size(), transport.rank(), elements)) {
  bool adds = false;
  for (int i = 0; i < static_cast<int>(rounds_.size()); ++i) {
    const Round& round = rounds_[i];
    add_segments(sends_, i, round.to, round.sent, false);
    add_segments(receives_, i, round.from, round.received, round.adds);
    adds |= round.adds;
  }
  find_dependencies();
  if (adds) arrivals_.resize(kAhead * std::min(segment_elements_, elements));
  segment_elements_ = std::min(segment_elements_, elements);
  receiving_.resize(kAhead);
  sending_.reserve(kAhead);
}

template <class T>
void Exchange<T>::add_segments(std::vector<Segment>& to, int round, int peer, Part part, bool adds) {
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
  const auto index_in = [this](const Part& part, std::int64_t element) {
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
      if (const Part& sent = rounds_[round].sent; sent.overlaps(received.part))
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
    std::erase_if(sending_, [this](const Sending& s) { return transport_.done(s.ticket); });
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
    if (segment.adds) {
      if (!may_change(segment)) break;
      add(values_ + segment.part.begin, memory_for(taken_), segment.part.size());
    }
    ++taken_;
  }
  return taken_ > before;
}

template <class T>
bool Exchange<T>::post_receives() {
  const std::size_t before = posted_;
  for (; posted_ < receives_.size() && posted_ < taken_ + kAhead; ++posted_) {
    const Segment& segment = receives_[posted_];
    if (!segment.adds && !may_change(segment)) break;  // it will arrive in its place
    receiving_[posted_ % kAhead] = transport_.receive(segment.peer, channel_, memory_for(posted_),
                                                      segment.part.size() * static_cast<std::int64_t>(sizeof(T)));
  }
  return posted_ > before;
}

template <class T>
bool Exchange<T>::post_sends() {
  const std::size_t before = sent_;
  for (; sent_ < sends_.size() && sending_.size() < kAhead; ++sent_) {
    if (sends_[sent_].needed > static_cast<int>(taken_)) break;
    const Segment& segment = sends_[sent_];
    sending_.push_back({transport_.send(segment.peer, channel_, values_ + segment.part.begin,
                                        segment.part.size() * static_cast<std::int64_t>(sizeof(T))),
                        segment.part});
  }
  return sent_ > before;
}

template <class T>
bool Exchange<T>::may_change(const Segment& received) const {
  return static_cast<int>(sent_) >= received.needed &&
         std::ranges::none_of(sending_, [&](const Sending& s) { return s.part.overlaps(received.part); });
}

template <class T>
T* Exchange<T>::memory_for(std::size_t receive) {
  const Segment& segment = receives_[receive];
  return segment.adds ? arrivals_.data() + receive % kAhead * segment_elements_ : values_ + segment.part.begin;
}

template <class T>
std::string Exchange<T>::waiting_for() const {
  if (taken_ < receives_.size()) return fmt::format("rank {}", receives_[taken_].peer);
  return sent_ > 0 ? fmt::format("rank {}", sends_[sent_ - 1].peer) : "nobody";
}

template class Exchange<float>;
template class Exchange<double>;

}  // namespace lockring::dist
