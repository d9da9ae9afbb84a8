// Which of several servers gets the next request.
//
// Used for whole processes behind `lockring balance` and for the replicas of one model alike: the caller knows how many
// requests each has in flight and which may be chosen, and the policy picks one.
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lockring::app::balance {

// One candidate as it stands now.
struct Candidate {
  double weight = 1;           // share of the requests; 0 or less: not to be chosen. Slow start lowers it for a while
  std::int64_t in_flight = 0;  // requests it has and has not answered
};

// What is known of the request.
struct Request {
  // Of the header or cookie that decides for the policy `hash`; 0 for a request without it.
  std::uint64_t key = 0;
};

inline constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();

// Any thread may call pick at any time.
class Policy {
 public:
  virtual ~Policy() = default;
  // The place of one of `candidates` whose weight is above 0; kNone if there is none. The list keeps its length and
  // order from call to call.
  virtual std::size_t pick(std::span<const Candidate> candidates, const Request& request) = 0;
};

// "round-robin":       in turn, as often as the weights say, smoothly interleaved
// "least-connections": the fewest in flight by weight; ties in turn
// "power-of-two":      the better of two drawn at random (Mitzenmacher, 2001): nearly as good, and several balancers
//                      that cannot see each other do not all choose the same one
// "hash":              the same one for the same key, and when one comes or goes only its share of the keys moves
//                      (highest random weight; Thaler and Ravishankar, 1998); requests without a key go to the least
//                      loaded
std::unique_ptr<Policy> make_policy(std::string_view name);
// The names above. make_policy throws Error{usage} for others.
std::span<const std::string> policy_names();

// Of a header's value, never 0. The same on every machine.
std::uint64_t hash_key(std::string_view value);

}  // namespace lockring::app::balance
