// Threads for what would hold up an event loop: large pictures and bodies, loading models.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace lockring::app::serve {

class Offload {
 public:
  // At most `most` tasks wait, which hold at most `most_bytes` between them.
  Offload(int threads, std::size_t most, std::size_t most_bytes);
  ~Offload();  // runs what waits
  Offload(const Offload&) = delete;
  Offload& operator=(const Offload&) = delete;

  // Runs the task, which holds `bytes`, on one of the threads; false, and it is dropped, if too much waits. It must not
  // throw. Any thread.
  bool post(std::function<void()> task, std::size_t bytes);

 private:
  struct Task {
    std::function<void()> run;
    std::size_t bytes = 0;
  };

  void work();

  const std::size_t most_;
  const std::size_t most_bytes_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Task> tasks_;
  std::size_t bytes_ = 0;  // of those that wait or run
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace lockring::app::serve
