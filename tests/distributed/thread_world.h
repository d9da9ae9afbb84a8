// Machines as threads: each has one rank, and exchanges messages with the others through memory.
#pragma once

#include "distributed/thread_transport.h"
#include "distributed/world.h"

#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace lockring::dist {

class ThreadWorld final : public World {
 public:
  ThreadWorld(std::unique_ptr<Transport> all, std::unique_ptr<Transport> across) {
    set_groups(std::make_unique<Communicator>(std::move(all)), self_communicator(),
               std::make_unique<Communicator>(std::move(across)));
  }
  [[noreturn]] void abort(int) override { std::abort(); }
  std::string mpi_version() const override { return "threads"; }
};

// Runs job(world) on each of `machines`; rethrows the first exception.
inline void run_machines(int machines, const std::function<void(World&)>& job) {
  auto all = thread_transports(machines), across = thread_transports(machines);
  std::mutex mutex;
  std::exception_ptr failure;
  std::vector<std::thread> threads;
  for (int machine = 0; machine < machines; ++machine)
    threads.emplace_back([&, machine] {
      try {
        ThreadWorld world(std::move(all[machine]), std::move(across[machine]));
        job(world);
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (!failure) failure = std::current_exception();
      }
    });
  for (std::thread& thread : threads) thread.join();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace lockring::dist
