// Ranks as threads: what a group of processes would do, within a test.
#pragma once

#include "distributed/communicator.h"
#include "distributed/thread_transport.h"

#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace lockring::dist {

// Runs job(communicator) as every rank of a group of `size`; rethrows the first exception.
inline void run_ranks(int size, const std::function<void(Communicator&)>& job,
                      std::chrono::milliseconds timeout = std::chrono::seconds(60)) {
  auto transports = thread_transports(size);
  std::mutex mutex;
  std::exception_ptr failure;
  std::vector<std::thread> threads;
  for (auto& transport : transports)
    threads.emplace_back([&, own = transport.release()] {
      Communicator communicator{std::unique_ptr<Transport>(own)};
      communicator.set_timeout(timeout);
      try {
        job(communicator);
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (!failure) failure = std::current_exception();
      }
    });
  for (std::thread& thread : threads) thread.join();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace lockring::dist
