#include "apps/serve/offload.h"

#include <algorithm>
#include <utility>

namespace lockring::app::serve {

Offload::Offload(int threads, std::size_t most, std::size_t most_bytes) : most_(most), most_bytes_(most_bytes) {
  for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { work(); });
}

Offload::~Offload() {
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

bool Offload::post(std::function<void()> task, std::size_t bytes) {
  {
    const std::scoped_lock lock(mutex_);
    const bool room = bytes_ == 0 || bytes <= most_bytes_ - std::min(bytes_, most_bytes_);
    if (tasks_.size() >= most_ || !room) return false;
    bytes_ += bytes;
    tasks_.push_back({std::move(task), bytes});
  }
  changed_.notify_one();
  return true;
}

void Offload::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return stopping_ || !tasks_.empty(); });
    if (tasks_.empty()) return;
    Task task = std::move(tasks_.front());
    tasks_.pop_front();
    lock.unlock();
    task.run();
    task.run = nullptr;
    lock.lock();
    bytes_ -= task.bytes;
  }
}

}  // namespace lockring::app::serve
