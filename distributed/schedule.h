// All-reduce algorithms as data: what a rank sends and receives in each round.
//
// Whoever receives a part of the vector either adds it to its own or takes it over. Each element is summed once, in one
// order, and the sum is handed on, so all ranks hold the same bits. Cost with p ranks, n bytes, latency a, time b a
// byte (Thakur, Rabenseifner and Gropp, "Optimization of Collective Communication Operations in MPICH", 2005):
//
//   ring                2 (p - 1) a + 2 n (p - 1) / p b    any p; rounds are pipelined segment by segment
//   recursive doubling  lg p (a + n b)                     short vectors
//   halving-doubling    2 lg p a + 2 n (p - 1) / p b       adds adjacent ranks first, then pairs of pairs: for a power
//                                                          of two the sum is one binary tree, wherever the ranks are
//
// The last two fold the ranks beyond a power of two into their neighbours first, and tell them the result at the end.
#pragma once

#include "distributed/slice.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lockring::dist {

// mpi is the library's own, which has no schedule.
enum class Algorithm { ring, recursive_doubling, halving_doubling, mpi };

// "ring", "recursive-doubling", "halving-doubling", "mpi".
std::string to_string(Algorithm algorithm);
// Throws Error{usage} on another word.
Algorithm parse_algorithm(std::string_view text);

// What a rank does at once; an empty slice is not sent or received.
struct Round {
  int to = 0;
  Slice sent;
  int from = 0;
  Slice received;
  bool adds = false;  // what is received is added; else it replaces
};

// The rounds of `rank` of `size`; none for a library's. Of a vector of `elements`.
std::vector<Round> make_schedule(Algorithm algorithm, int size, int rank, std::int64_t elements);

}  // namespace lockring::dist
