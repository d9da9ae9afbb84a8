// An all-reduce that is under way: carries out a schedule, segment by segment, whenever it is asked to progress.
//
// There is no thread behind it, because a training step has no core to spare: who computes calls progress() now and
// then. While one segment is added the next ones are in flight.
#pragma once

#include "distributed/schedule.h"
#include "distributed/transport.h"

#include <cstdint>
#include <string>
#include <vector>

namespace lockring::dist {

// Made once for a vector's length and used every step; allocates nothing after that. T: float, double.
template <class T>
class Exchange {
 public:
  static constexpr std::int64_t kSegmentBytes = 256 << 10;

  // Every rank of the transport makes the same. Exchanges that are under way at once need channels of their own.
  Exchange(Transport& transport, int channel, Algorithm algorithm, std::int64_t elements,
           std::int64_t segment_bytes = kSegmentBytes);

  // Begins to sum `values`, `elements` long, over the ranks in place. The memory is the exchange's until progress()
  // returns true.
  void start(T* values);
  // Does what can be done at once; true when all is.
  bool progress();
  bool running() const { return values_ != nullptr; }
  // The peer whose message is next: "rank 3".
  std::string waiting_for() const;

 private:
  struct Segment {
    int round;
    int peer;
    Part part;
    bool adds;
    int needed;  // of a send: so many segments must have been received; of a receive: so many must have been sent
  };
  struct Sending {
    Ticket ticket;
    Part part;
  };

  void add_segments(std::vector<Segment>& to, int round, int peer, Part part, bool adds);
  void find_dependencies();
  bool take_received();
  bool post_receives();
  bool post_sends();
  bool may_change(const Segment& received) const;
  T* memory_for(std::size_t receive);

  Transport& transport_;
  const int channel_;
  std::int64_t segment_elements_;
  std::vector<Round> rounds_;
  std::vector<Segment> sends_;
  std::vector<Segment> receives_;
  std::vector<T> arrivals_;  // where segments arrive that will be added

  T* values_ = nullptr;  // while running
  std::size_t sent_ = 0;
  std::size_t posted_ = 0;  // receives
  std::size_t taken_ = 0;   // receives
  std::vector<Ticket> receiving_;
  std::vector<Sending> sending_;
};

}  // namespace lockring::dist
