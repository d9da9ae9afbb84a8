// Looks at a repository's folder now and then, so that versions are served soon after they were put there.
#pragma once

#include "apps/serve/repository.h"

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace lockring::app::serve {

class RepositoryPoll {
 public:
  // `say` gets a line for each version that came, went, or failed, and one when the folder cannot be read; on a thread
  // of the poll. The repository outlives it.
  RepositoryPoll(Repository& repository, std::chrono::milliseconds interval,
                 std::function<void(const std::string&)> say);
  ~RepositoryPoll();
  RepositoryPoll(const RepositoryPoll&) = delete;
  RepositoryPoll& operator=(const RepositoryPoll&) = delete;

 private:
  void run();
  void look();

  Repository& repository_;
  const std::chrono::milliseconds interval_;
  const std::function<void(const std::string&)> say_;
  std::vector<IndexRow> seen_;
  std::string complaint_;  // the last, so that it is said once

  std::mutex mutex_;
  std::condition_variable stopped_;
  bool stopping_ = false;
  std::thread thread_;
};

// What the second says that the first did not, in lines.
std::vector<std::string> changes_of_index(const std::vector<IndexRow>& before, const std::vector<IndexRow>& after);

}  // namespace lockring::app::serve
