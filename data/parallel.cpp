#include "data/parallel.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace lockring::data {

void in_parallel(std::int64_t count, int threads, const std::function<void(std::int64_t)>& work) {
  std::atomic<std::int64_t> next{0};
  std::mutex mutex;
  std::exception_ptr failure;
  const auto take_turns = [&] {
    for (std::int64_t i = next.fetch_add(1); i < count; i = next.fetch_add(1)) {
      try {
        work(i);
      } catch (...) {
        next = count;
        const std::lock_guard lock(mutex);
        if (failure == nullptr) failure = std::current_exception();
      }
    }
  };
  std::vector<std::thread> others;
  try {
    while (std::ssize(others) + 1 < std::min<std::int64_t>(threads, count)) others.emplace_back(take_turns);
  } catch (const std::system_error&) {
    // Fewer threads do the same work.
  }
  take_turns();
  for (std::thread& other : others) other.join();
  if (failure != nullptr) std::rethrow_exception(failure);
}

}  // namespace lockring::data
