// Point-to-point messages between the ranks of a group: all that collective algorithms need of the world.
#pragma once

#include <cstdint>
#include <span>

namespace lockring::dist {

// Names a message that is under way.
using Ticket = int;

// Belongs to one thread of its process at a time. What goes wrong throws Error{device}, naming the peer.
class Transport {
 public:
  // Longer messages are cut by those who send them.
  static constexpr std::int64_t kMostBytes = std::int64_t{1} << 30;

  virtual ~Transport() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;

  // Both return at once; the memory is the transport's until done(). Between two ranks, the messages of a channel (0 to
  // 1023) arrive in the order in which they were sent, and a message has the length that its receiver expects.
  virtual Ticket send(int to, int channel, const void* memory, std::int64_t bytes) = 0;
  virtual Ticket receive(int from, int channel, void* memory, std::int64_t bytes) = 0;

  // Whether the message has left its memory, or has arrived. Never blocks. Voids the ticket when true.
  virtual bool done(Ticket ticket) = 0;

  // The library's own all-reduce, for comparison. Throws Error{usage} without one.
  virtual void library_all_reduce(std::span<float> values);
};

}  // namespace lockring::dist
