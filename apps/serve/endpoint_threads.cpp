// The threads of an endpoint: replicas that compute, and the supervisor that watches the clock.
#include "apps/serve/endpoint.h"

#include <algorithm>
#include <exception>
#include <utility>

namespace lockring::app::serve {
namespace {

constexpr std::chrono::milliseconds kRound{100};  // between looks at how many replicas are needed
constexpr int kQuietRounds = 50;                  // before one is given up

Tensor rows_of(const Part& part) { return part.pending->request.images.slice(part.begin, part.end); }

}  // namespace

void Endpoint::work(int replica) {
  Lock lock(mutex_);
  for (;;) {
    if (queue_.empty() && stopping_) return;
    const auto due = queue_.empty() ? Clock::time_point::max() : queue_.due();
    if (queue_.empty() || running_ >= replicas_) {
      ++idle_;
      work_.wait(lock);
      --idle_;
      continue;
    }
    if (!stopping_ && Clock::now() < due) {
      ++idle_;
      work_.wait_until(lock, due);
      --idle_;
      continue;
    }
    limit_batches();
    const Batch batch = queue_.take(replica);
    if (batch.parts.empty()) continue;
    const auto now = Clock::now();
    for (const Part& part : batch.parts)
      if (part.begin == 0) note_wait(*part.pending, now);
    ++running_;
    running_rows_ += batch.rows;
    computing_[static_cast<std::size_t>(replica)] = std::ssize(batch.parts);
    lock.unlock();
    run(batch);
    lock.lock();
    computing_[static_cast<std::size_t>(replica)] = 0;
    --running_;
    running_rows_ -= batch.rows;
  }
}

void Endpoint::run(const Batch& batch) {
  const auto start = Clock::now();
  Timing timing{.batch_rows = batch.rows};
  std::string failure;
  try {
    std::vector<Tensor> images;
    std::vector<Tensor> answers;
    for (const Part& part : batch.parts) {
      images.push_back(rows_of(part));
      answers.push_back(part.pending->answer.slice(part.begin, part.end));
    }
    model_->compute(images, answers);
  } catch (const std::exception& error) {
    failure = error.what();
  }
  timing.compute = Clock::now() - start;
  note_speed(timing.compute, batch.rows);
  count_batch(timing, batch.release);
  for (const Part& part : batch.parts) {
    timing.queue = start - part.pending->arrived;
    if (!failure.empty() && batch.parts.size() > 1) {
      run_alone(part, timing);  // what is wrong with one must not be the others' fault
    } else {
      complete(part, timing, failure);
    }
  }
}

void Endpoint::run_alone(const Part& part, Timing timing) {
  std::string failure;
  const auto start = Clock::now();
  try {
    const Tensor images = rows_of(part);
    Tensor answer = part.pending->answer.slice(part.begin, part.end);
    model_->compute({&images, 1}, {&answer, 1});
  } catch (const std::exception& error) {
    failure = error.what();
  }
  timing.compute = Clock::now() - start;
  timing.batch_rows = part.rows();
  complete(part, timing, failure);
}

void Endpoint::complete(const Part& part, const Timing& timing, const std::string& failure) {
  Pending& pending = *part.pending;
  Answer answer;
  {
    const Lock lock(mutex_);
    pending.timing.queue = pending.timing.queue.count() == 0 ? timing.queue : pending.timing.queue;
    pending.timing.compute = std::max(pending.timing.compute, timing.compute);
    pending.timing.batch_rows = std::max(pending.timing.batch_rows, timing.batch_rows);
    if (!failure.empty()) pending.failure = failure;
    if (--pending.parts_left > 0) return;
    answer.timing = pending.timing;
    answer.message = pending.failure;
  }
  answer.outcome = answer.message.empty() ? Outcome::ok : Outcome::failed;
  if (answer.outcome == Outcome::ok) answer.probabilities = pending.answer;
  finish(part.pending, std::move(answer));
}

void Endpoint::supervise() {
  Lock lock(mutex_);
  auto next_round = Clock::now() + kRound;
  while (!stopping_ || !open_.empty()) {
    const bool adapts = options_.least_replicas < options_.most_replicas;
    const auto until = adapts ? std::min(next_check_, next_round) : next_check_;
    if (stopping_) {
      supervision_.wait_for(lock, std::chrono::milliseconds(1));
    } else if (until == Clock::time_point::max()) {
      supervision_.wait(lock);
    } else {
      supervision_.wait_until(lock, until);
    }
    const auto now = Clock::now();
    if (now >= next_check_) answer_late(lock);
    if (adapts && now >= next_round) {
      adapt_replicas();
      next_round = now + kRound;
    }
  }
}

void Endpoint::answer_late(Lock& lock) {
  const auto now = Clock::now();
  next_check_ = Clock::time_point::max();
  std::vector<std::pair<std::shared_ptr<Pending>, Outcome>> leaving;
  for (const auto& pending : open_) {
    const auto deadline = pending->request.deadline;
    if (now >= deadline) {
      leaving.emplace_back(pending, Outcome::late);
    } else if (!pending->started && now >= pending->leave_by) {
      leaving.emplace_back(pending, Outcome::full);
      note_wait(*pending, now);
    } else {
      next_check_ = std::min({next_check_, deadline, pending->started ? deadline : pending->leave_by});
    }
  }
  const auto wait = std::chrono::duration_cast<std::chrono::milliseconds>(expected_wait());
  lock.unlock();
  for (auto& [pending, outcome] : leaving) {
    finish(pending,
           {.outcome = outcome,
            .message = outcome == Outcome::late
                           ? "the deadline has passed"
                           : fmt::format("waited longer than the queue of model '{}' allows", description_.name),
            .retry_after = wait});
  }
  lock.lock();
}

void Endpoint::adapt_replicas() {
  const int needed = std::exchange(peak_, running_ + (queue_.empty() ? 0 : 1));
  if (needed > replicas_ && replicas_ < options_.most_replicas) {
    ++replicas_;
    quiet_rounds_ = 0;
    if (!queue_.empty()) work_.notify_one();
  } else if (needed >= replicas_ || replicas_ == options_.least_replicas) {
    quiet_rounds_ = 0;
  } else if (++quiet_rounds_ >= kQuietRounds) {
    --replicas_;
    quiet_rounds_ = 0;
  }
}

}  // namespace lockring::app::serve
