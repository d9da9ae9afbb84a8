#include "apps/serve/endpoint.h"

#include "core/error.h"

#include <algorithm>
#include <exception>
#include <utility>

namespace lockring::app::serve {
namespace {

using std::chrono::nanoseconds;

// What an event loop may spend on one request while others wait for it: about what waking another core costs.
constexpr nanoseconds kInline = std::chrono::microseconds(250);
constexpr int kWarmUps = 3;
// Longer batches gain nothing on a processor's core, and others wait for them.
constexpr nanoseconds kLongestBatch = std::chrono::milliseconds(4);

Description describe(const std::string& name, const std::string& version, const Model& model,
                     const EndpointOptions& options) {
  return {.name = name,
          .version = version,
          .platform = "lockring",
          .input = model.info().input_name,
          .image = model.info().input_shape,
          .light_on_dark = !model.loaded().transform.front().grayscale,
          .classes = model.info().classes,
          .max_batch = options.batch.max_rows,
          .architecture = model.info().architecture,
          .digest = model.digest(),
          .transform = model.info().transform,
          .parameters = model.parameters(),
          .metrics = model.info().metrics};
}

Tensor room_for(const Tensor& images, const Description& description) {
  return Tensor::empty({images.size(0), std::ssize(description.classes)});
}

}  // namespace

std::shared_ptr<Endpoint> Endpoint::start(const std::string& name, const std::string& version,
                                          std::shared_ptr<const Model> model, const EndpointOptions& options) {
  std::shared_ptr<Endpoint> endpoint(new Endpoint(name, version, std::move(model), options));
  try {
    endpoint->warm_up();
    for (int replica = 0; replica < options.most_replicas; ++replica)
      endpoint->threads_.emplace_back([self = endpoint.get(), replica] { self->work(replica); });
    endpoint->threads_.emplace_back([self = endpoint.get()] { self->supervise(); });
  } catch (const std::system_error& error) {
    fail(ErrorCode::device, "cannot start the threads of {}: {}", name, error.what());
  }
  return endpoint;
}

Endpoint::Endpoint(const std::string& name, const std::string& version, std::shared_ptr<const Model> model,
                   const EndpointOptions& options)
    : model_(std::move(model)),
      options_(options),
      description_(describe(name, version, *model_, options)),
      queue_(options.batch, options.most_replicas),
      policy_(balance::make_policy(options.balance)),
      computing_(static_cast<std::size_t>(options.most_replicas)),
      replicas_(options.least_replicas) {}

Endpoint::~Endpoint() { stop(); }

void Endpoint::stop() {
  {
    const Lock lock(mutex_);
    stopping_ = true;
  }
  work_.notify_all();
  supervision_.notify_all();
  for (std::thread& thread : threads_)
    if (thread.joinable()) thread.join();
}

void Endpoint::warm_up() {
  model_->warm_up(options_.batch.max_rows);
  const Tensor images = model_->sample();
  Tensor answer = room_for(images, description_);
  for (int i = 0; i < kWarmUps; ++i) {
    const auto start = Clock::now();
    model_->compute({&images, 1}, {&answer, 1});
    note_speed(Clock::now() - start, 1);
  }
}

Load Endpoint::load() const {
  const Lock lock(mutex_);
  return {.queued = queue_.parts(), .running = running_, .replicas = replicas_};
}

void Endpoint::submit(Request request, Done done) {
  const auto now = Clock::now();
  Lock lock(mutex_);
  peak_ = std::max(peak_, running_ + 1);
  nanoseconds wait{0};
  const Outcome refused = stopping_ ? Outcome::unavailable : refusal(request, now, wait);
  if (refused == Outcome::ok && runs_inline(request)) return run_inline(std::move(request), done, now, lock);
  if (refused == Outcome::ok) return enqueue(std::move(request), std::move(done), now, lock);
  lock.unlock();
  Answer answer{.outcome = refused, .model = description_.name, .version = description_.version};
  answer.retry_after = std::chrono::duration_cast<std::chrono::milliseconds>(wait);
  if (refused == Outcome::unavailable) answer.message = fmt::format("model '{}' is being unloaded", description_.name);
  if (refused == Outcome::full) answer.message = fmt::format("the queue of model '{}' is full", description_.name);
  if (refused == Outcome::late) answer.message = "the deadline would pass before the answer is there";
  if (refused == Outcome::cancelled) answer.message = "cancelled";
  if (refused != Outcome::unavailable) count(answer, request.images.size(0), now);
  done(std::move(answer));
}

nanoseconds Endpoint::expected_wait() const {
  const double rows = static_cast<double>(queue_.rows()) + 0.5 * static_cast<double>(running_rows_);
  const bool free = running_ < replicas_ && queue_.empty();
  return nanoseconds(free ? 0 : static_cast<std::int64_t>(wait_factor_ * rows * row_ns_.load() / replicas_));
}

// Replicas do not always have a core of their own. One refused too many costs little, and one that was kept and has to
// be refused late costs him his time: so the factor follows long waits at once and short ones slowly.
void Endpoint::note_wait(const Pending& pending, Clock::time_point now) {
  constexpr double kLonger = 0.2;
  constexpr double kShorter = 0.01;
  constexpr nanoseconds kLeast = std::chrono::milliseconds(1);  // shorter waits tell nothing
  if (pending.expected < kLeast) return;
  const double seen = std::chrono::duration<double>(now - pending.arrived) / pending.expected * wait_factor_;
  wait_factor_ += (seen > wait_factor_ ? kLonger : kShorter) * (seen - wait_factor_);
  wait_factor_ = std::clamp(wait_factor_, 0.5, 10.0);
}

Outcome Endpoint::refusal(const Request& request, Clock::time_point now, nanoseconds& wait) const {
  if (request.cancellation != nullptr && request.cancellation->cancelled()) return Outcome::cancelled;
  wait = expected_wait();
  // Some would wait longer than they were expected to, and be refused late.
  const auto longest = options_.max_queue_time * 4 / 5;
  if (!queue_.empty() && (queue_.parts() >= options_.max_queue || wait > longest)) return Outcome::full;
  if (request.deadline == Clock::time_point::max()) return Outcome::ok;
  const auto computing = nanoseconds(static_cast<std::int64_t>(row_ns_.load()));
  return now + wait + computing > request.deadline ? Outcome::late : Outcome::ok;
}

bool Endpoint::runs_inline(const Request& request) const {
  const double expected = row_ns_.load() * static_cast<double>(request.images.size(0));
  return request.inline_allowed && queue_.empty() && running_ < replicas_ &&
         expected < static_cast<double>(kInline.count()) && request.images.size(0) <= options_.batch.max_rows;
}

void Endpoint::run_inline(Request request, const Done& done, Clock::time_point arrived, Lock& lock) {
  const std::int64_t rows = request.images.size(0);
  ++running_;
  running_rows_ += rows;
  lock.unlock();
  Answer answer{.model = description_.name, .version = description_.version};
  const auto start = Clock::now();
  try {
    answer.probabilities = room_for(request.images, description_);
    model_->compute({&request.images, 1}, {&answer.probabilities, 1});
  } catch (const std::exception& error) {
    answer.outcome = Outcome::failed;
    answer.message = error.what();
    answer.probabilities = {};
  }
  answer.timing = {.queue = start - arrived, .compute = Clock::now() - start, .batch_rows = rows};
  note_speed(answer.timing.compute, rows);
  count_batch(answer.timing, Release::own_thread);
  lock.lock();
  --running_;
  running_rows_ -= rows;
  const bool others = !queue_.empty();
  lock.unlock();
  if (others) work_.notify_one();
  count(answer, rows, arrived);
  done(std::move(answer));
}

void Endpoint::limit_batches() {
  queue_.limit(static_cast<std::int64_t>(static_cast<double>(kLongestBatch.count()) / std::max(row_ns_.load(), 1.0)));
}

// An idle replica takes from the others' lanes (batch_queue.h), so this decides who gets what when all are busy.
int Endpoint::choose_lane(const Request& request) {
  std::vector<balance::Candidate> candidates;
  for (int replica = 0; replica < replicas_; ++replica)
    candidates.push_back({.in_flight = queue_.parts_in(replica) + computing_[static_cast<std::size_t>(replica)]});
  return static_cast<int>(policy_->pick(candidates, {.key = request.affinity}));
}

void Endpoint::enqueue(Request request, Done done, Clock::time_point arrived, Lock& lock) {
  auto pending = std::make_shared<Pending>();
  pending->answer = room_for(request.images, description_);
  pending->request = std::move(request);
  pending->done = std::move(done);
  pending->arrived = arrived;
  pending->leave_by = arrived + options_.max_queue_time;
  pending->expected = expected_wait();
  open_.push_back(pending);
  limit_batches();
  queue_.push(pending, replicas_, choose_lane(pending->request));
  if (running_ >= replicas_) peak_ = std::max(peak_, replicas_ + 1);
  const bool wake = idle_ > 0 && running_ < replicas_;
  const auto check = std::min(pending->leave_by, pending->request.deadline);
  const bool sooner = check < next_check_;
  if (sooner) next_check_ = check;
  const bool several = queue_.parts() > 1;
  lock.unlock();
  if (wake && several) work_.notify_all();
  if (wake && !several) work_.notify_one();
  if (sooner) supervision_.notify_one();
  if (pending->request.cancellation == nullptr) return;
  // The request holds who calls this, so this must not hold the request.
  pending->request.cancellation->listen([weak = weak_from_this(), waiting = std::weak_ptr<Pending>(pending)] {
    const auto self = weak.lock();
    const auto found = waiting.lock();
    if (self && found) self->finish(found, {.outcome = Outcome::cancelled, .message = "cancelled"});
  });
}

void Endpoint::finish(const std::shared_ptr<Pending>& pending, Answer answer) {
  Done done;
  {
    const Lock lock(mutex_);
    if (std::exchange(pending->answered, true)) return;
    if (!pending->started) queue_.remove(*pending);
    std::erase(open_, pending);
    done = std::move(pending->done);
  }
  answer.model = description_.name;
  answer.version = description_.version;
  count(answer, pending->request.images.size(0), pending->arrived);
  done(std::move(answer));
}

void Endpoint::note_speed(nanoseconds took, std::int64_t rows) {
  constexpr double kNewest = 0.1;
  const double now = static_cast<double>(took.count()) / static_cast<double>(rows);
  const double before = row_ns_.load();
  // The first may have waited for memory; a lost update of two threads does not matter.
  row_ns_.store(before == 0 ? now : (1 - kNewest) * before + kNewest * now);
}

void Endpoint::count_batch(const Timing& timing, Release release) {
  counters_.batches.fetch_add(1, std::memory_order_relaxed);
  counters_.batch_rows.add(static_cast<double>(timing.batch_rows));
  counters_.released[static_cast<std::size_t>(release)].fetch_add(1, std::memory_order_relaxed);
}

}  // namespace lockring::app::serve
