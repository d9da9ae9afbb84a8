// Work on many things at once, where no replicas are at work yet: caches are built this way.
#pragma once

#include <cstdint>
#include <functional>

namespace lockring::data {

// Calls work(i) for every i of [0, count), on at most `threads` threads, this one among them. Returns when all are
// done. If one throws, no further ones begin, and the first exception is rethrown here.
void in_parallel(std::int64_t count, int threads, const std::function<void(std::int64_t)>& work);

}  // namespace lockring::data
