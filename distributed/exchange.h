// An all-reduce that is under way: carries out a schedule, segment by segment, whenever it is asked to progress.
//
// There is no thread behind it, because a training step has no core to spare: who computes calls progress() now and
// then. While one segment is added the next ones are in flight.
#pragma once

#include "distributed/schedule.h"
#include "distributed/transport.h"

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace lockring::dist {

// What carries a float between ranks; sums are of float32 either way. bf16 halves the bytes: each partial sum is
// rounded to the nearest before it is sent, and so is the result, on every rank.
enum class Wire { f32, bf16 };
std::string_view to_string(Wire wire);

// Made once for a vector's length and used every step; allocates nothing after that. T: float; double, sent as it is.
template <class T>
class Exchange {
 public:
  // Short enough for MPI to send at once, over TCP, without asking the receiver first: it does so below 64 KiB.
  static constexpr std::int64_t kSegmentBytes = 60 << 10;

  // Every rank of the transport makes the same. Exchanges that are under way at once need channels of their own.
  Exchange(Transport& transport, int channel, Algorithm algorithm, std::int64_t elements, Wire wire = Wire::f32,
           std::int64_t segment_bytes = kSegmentBytes);

  // Begins to sum `values`, `elements` long, over the ranks in place. The memory is the exchange's until progress()
  // returns true.
  void start(T* values);
  // Does what can be done at once; true when all is.
  bool progress();
  bool running() const { return values_ != nullptr; }
  // The peer whose message is next; -1 if there is none.
  int waiting_for() const;

 private:
  struct Segment {
    int round;
    int peer;
    Slice part;
    bool adds;
    int needed;  // of a send: so many segments must have been received; of a receive: so many must have been sent
  };
  struct Sending {
    Ticket ticket;
    Slice part;
    std::uint16_t* staged;  // what is sent, if not the part itself
  };

  void add_segments(std::vector<Segment>& to, int round, int peer, Slice part, bool adds);
  void find_dependencies();
  bool take_received();
  bool post_receives();
  bool post_sends();
  bool may_change(const Segment& received) const;
  // Whether a segment arrives elsewhere than in its place.
  bool is_staged(const Segment& received) const { return received.adds || wire_ == Wire::bf16; }
  std::byte* memory_for(std::size_t receive);
  void take(std::size_t receive);
  std::uint16_t* stage(const Segment& sent);
  std::int64_t bytes_of(const Slice& part) const { return part.size() * wire_bytes_; }

  Transport& transport_;
  const int channel_;
  const Wire wire_;
  const std::int64_t wire_bytes_;  // of an element
  std::int64_t segment_elements_;
  std::vector<Round> rounds_;
  std::vector<Segment> sends_;
  std::vector<Segment> receives_;
  std::vector<std::byte> arrivals_;        // of segments that are staged
  std::vector<std::uint16_t> departures_;  // bf16
  std::vector<std::uint16_t*> free_departures_;

  T* values_ = nullptr;  // while running
  std::size_t sent_ = 0;
  std::size_t posted_ = 0;  // receives
  std::size_t taken_ = 0;   // receives
  std::vector<Ticket> receiving_;
  std::vector<Sending> sending_;
};

}  // namespace lockring::dist
