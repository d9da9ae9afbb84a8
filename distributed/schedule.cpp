#include "distributed/schedule.h"

#include "core/error.h"

#include <bit>

namespace lockring::dist {
namespace {

using Schedule = std::vector<Round>;

Schedule ring(int size, int rank, std::int64_t elements) {
  const auto chunk = [=](int index) {
    const std::int64_t i = ((index % size) + size) % size;
    return Slice{elements * i / size, elements * (i + 1) / size};
  };
  const int next = (rank + 1) % size, previous = (rank + size - 1) % size;
  Schedule rounds;
  for (int i = 0; i < size - 1; ++i) rounds.push_back({next, chunk(rank - i), previous, chunk(rank - i - 1), true});
  for (int i = 0; i < size - 1; ++i) rounds.push_back({next, chunk(rank + 1 - i), previous, chunk(rank - i), false});
  return rounds;
}

// Ranks beyond a power of two: of the first 2 * extra ranks, each odd one gives its vector to the even one before it.
struct Folding {
  Folding(int size, int rank)
      : power(static_cast<int>(std::bit_floor(static_cast<unsigned>(size)))),
        extra(size - power),
        folded(rank < 2 * extra && rank % 2 == 1),
        taker(rank < 2 * extra && rank % 2 == 0),
        position(rank < 2 * extra ? rank / 2 : rank - extra) {}

  // Of the rank at a position among those that take part.
  int rank_at(int at) const { return at < extra ? 2 * at : at + extra; }

  int power;
  int extra;
  bool folded;
  bool taker;
  int position;
};

// `rounds` for those that take part, with the folding before and after.
template <class Rounds>
Schedule folded(int size, int rank, std::int64_t elements, Rounds rounds) {
  const Folding folding(size, rank);
  const Slice whole{0, elements};
  if (folding.folded) return {{rank - 1, whole, 0, {}, false}, {0, {}, rank - 1, whole, false}};
  Schedule schedule;
  if (folding.taker) schedule.push_back({0, {}, rank + 1, whole, true});
  rounds(folding, schedule);
  if (folding.taker) schedule.push_back({rank + 1, whole, 0, {}, false});
  return schedule;
}

Schedule recursive_doubling(int size, int rank, std::int64_t elements) {
  return folded(size, rank, elements, [&](const Folding& folding, Schedule& schedule) {
    for (int distance = 1; distance < folding.power; distance *= 2) {
      const int peer = folding.rank_at(folding.position ^ distance);
      schedule.push_back({peer, {0, elements}, peer, {0, elements}, true});
    }
  });
}

Schedule halving_doubling(int size, int rank, std::int64_t elements) {
  return folded(size, rank, elements, [&](const Folding& folding, Schedule& schedule) {
    Slice mine{0, elements};
    Schedule gather;
    for (int distance = 1; distance < folding.power; distance *= 2) {
      const int peer = folding.rank_at(folding.position ^ distance);
      const std::int64_t middle = mine.begin + mine.size() / 2;
      const Slice lower{mine.begin, middle}, upper{middle, mine.end};
      const bool keeps_lower = (folding.position & distance) == 0;
      mine = keeps_lower ? lower : upper;
      const Slice given = keeps_lower ? upper : lower;
      schedule.push_back({peer, given, peer, mine, true});
      gather.push_back({peer, mine, peer, given, false});
    }
    schedule.insert(schedule.end(), gather.rbegin(), gather.rend());
  });
}

}  // namespace

std::string to_string(Algorithm algorithm) {
  switch (algorithm) {
    case Algorithm::ring:
      return "ring";
    case Algorithm::recursive_doubling:
      return "recursive-doubling";
    case Algorithm::halving_doubling:
      return "halving-doubling";
    case Algorithm::mpi:
      return "mpi";
  }
  return "";
}

Algorithm parse_algorithm(std::string_view text) {
  for (const Algorithm algorithm :
       {Algorithm::ring, Algorithm::recursive_doubling, Algorithm::halving_doubling, Algorithm::mpi})
    if (to_string(algorithm) == text) return algorithm;
  fail(ErrorCode::usage, "there is no all-reduce '{}'", text);
}

std::vector<Round> make_schedule(Algorithm algorithm, int size, int rank, std::int64_t elements) {
  if (size == 1) return {};
  switch (algorithm) {
    case Algorithm::ring:
      return ring(size, rank, elements);
    case Algorithm::recursive_doubling:
      return recursive_doubling(size, rank, elements);
    case Algorithm::halving_doubling:
      return halving_doubling(size, rank, elements);
    case Algorithm::mpi:
      return {};
  }
  return {};
}

}  // namespace lockring::dist
