// Requests that are answered later: a bounded store of jobs, each with the response that it came to.
#pragma once

#include "apps/http/message.h"
#include "apps/serve/request.h"

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace lockring::app::serve {

struct JobOptions {
  std::size_t most = 1024;             // jobs that are kept, done or not
  std::size_t most_bytes = 256 << 20;  // of their responses, beyond which no job begins
  std::chrono::seconds keep{600};      // how long after its end
  std::chrono::seconds longest_poll{30};
};

enum class JobState { running, done, failed, cancelled };
std::string_view name_of(JobState state);

// A response that can be sent any number of times.
struct StoredResponse {
  unsigned status = 200;
  std::string content_type;
  std::vector<http::Header> headers;
  std::string body;

  explicit StoredResponse(const http::Response& response);
  http::Response copy() const;
};

struct JobView {
  std::string id;
  JobState state = JobState::running;
  double age_seconds = 0;
  std::shared_ptr<const StoredResponse> response;  // null while it is running, and if it was cancelled
};

// Any thread. Callbacks are called without locks held.
class JobStore {
 public:
  explicit JobStore(const JobOptions& options);
  ~JobStore();  // answers those who wait
  JobStore(const JobStore&) = delete;
  JobStore& operator=(const JobStore&) = delete;

  struct Begun {
    std::string id;
    bool fresh = false;  // else the job that was begun with this key before
    std::shared_ptr<Cancellation> cancellation;
  };
  // `key` may be empty; with one, the same key and content are the same job. Throws StatusError 503 when the store is
  // full, 422 for a key that was used with other content.
  Begun begin(const std::string& key, const std::string& content_digest);
  // The response is dropped if the job was cancelled.
  void finish(const std::string& id, const http::Response& response);
  std::optional<JobView> find(const std::string& id) const;
  // Calls `then` with the job as soon as it has ended, or after `patience`; with nothing if there is no such job.
  void wait(const std::string& id, std::chrono::milliseconds patience,
            std::function<void(std::optional<JobView>)> then);
  // Cancels what is running, removes what has ended. The job as it is then; nothing if there is none.
  std::optional<JobView> cancel(const std::string& id);

  struct Counts {
    std::uint64_t begun = 0, done = 0, failed = 0, cancelled = 0, expired = 0, refused = 0;
    std::size_t kept = 0, running = 0;
  };
  Counts counts() const;

 private:
  struct Job {
    JobState state = JobState::running;
    std::string key;
    std::string content_digest;
    Clock::time_point begun;
    Clock::time_point ended;
    std::shared_ptr<Cancellation> cancellation;
    std::shared_ptr<const StoredResponse> response;
  };
  struct Waiter {
    std::string id;
    Clock::time_point until;
    std::function<void(std::optional<JobView>)> then;
  };

  JobView view(const std::string& id, const Job& job) const;
  std::vector<Waiter> take_waiters(const std::function<bool(const Waiter&)>& which);
  void forget(std::map<std::string, Job>::iterator job);
  void expire(Clock::time_point now);
  void watch();
  void end(Job& job, JobState state);

  const JobOptions options_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, Job> jobs_;
  std::map<std::string, std::string> keys_;  // to ids
  std::size_t bytes_ = 0;                    // of all responses
  std::vector<Waiter> waiters_;
  Counts counts_;
  bool stopping_ = false;
  std::thread watcher_;  // ends polls that have waited long enough, and forgets old jobs
};

}  // namespace lockring::app::serve
