// Sends requests to a server as fast as it answers, or at a given rate, and measures.
#pragma once

#include "apps/http/client_connection.h"
#include "apps/load/latency_histogram.h"

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace lockring::app {

struct LoadOptions {
  http::Destination destination;
  // Whole requests with their heads, sent in turn.
  std::vector<std::string> requests;
  bool is_head = false;  // their method is HEAD
  int connections = 1;
  int threads = 1;
  double rate = 0;              // requests/s; 0: each connection sends when its last request is answered
  bool poisson = false;         // with a rate: arrivals at random, as from many users that do not know each other
  double seconds = 0;           // ends after that; 0: does not
  std::int64_t count = 0;       // ends after so many requests; 0: does not
  double timeout_seconds = 10;  // of one request
  std::uint64_t seed = 1;
};

struct LoadResult {
  LatencyHistogram accepted;  // of responses 200 to 399
  LatencyHistogram refused;   // of all others
  std::map<unsigned, std::int64_t> statuses;
  std::map<std::string, std::int64_t> errors;  // requests without a response, by kind
  std::int64_t unsent = 0;                     // of a rate: were due before the end, and found no connection free
  std::int64_t bytes_in = 0;                   // of bodies
  double seconds = 0;

  std::int64_t responses() const { return accepted.count() + refused.count(); }
  std::int64_t failures() const;
  void merge(const LoadResult& other);
};

// A closed loop measures from when a request is sent. With a rate it is measured from when the request was due, even if
// it is sent later because no connection is free: the wait is what a user would have seen (no coordinated omission;
// Tene, "How NOT to measure latency", 2013). Connections are made before time begins, and again when they are lost.
// `stop` is asked twenty times a second. Throws Error{device} if there is no connection at all.
LoadResult run_load(const LoadOptions& options, const std::function<bool()>& stop);

}  // namespace lockring::app
