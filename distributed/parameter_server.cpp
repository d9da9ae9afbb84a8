#include "distributed/parameter_server.h"

#include "core/error.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <thread>

namespace lockring::dist {

// What goes before a slice of an arena, in both directions.
struct ServerMessage {
  enum Kind : std::int64_t { hello, push, fetch, store, leave };

  std::int64_t kind = hello;
  std::int64_t index = 0;  // of the arena; of hello: the elements of the plan
  Push pushed;             // of push
  double result = 0;       // of the answer to it
  std::int64_t stop = 0;   // of any answer
  std::int64_t stop_step = -1;
  std::int64_t fits = 1;  // of the answer to hello
};

namespace {

constexpr int kRequests = 800, kAnswers = 801;

// Cuts what is longer than a message may be; calls f(memory, bytes).
template <class Byte, class F>
void for_each_piece(Byte* memory, std::int64_t bytes, F f) {
  for (std::int64_t at = 0; at < bytes; at += Transport::kMostBytes)
    f(memory + at, std::min(bytes - at, Transport::kMostBytes));
}

void send(Transport& transport, int to, int channel, const void* memory, std::int64_t bytes,
          std::vector<Ticket>& tickets) {
  for_each_piece(static_cast<const std::byte*>(memory), bytes, [&](const std::byte* piece, std::int64_t size) {
    tickets.push_back(transport.send(to, channel, piece, size));
  });
}

void receive(Transport& transport, int from, int channel, void* memory, std::int64_t bytes,
             std::vector<Ticket>& tickets) {
  for_each_piece(static_cast<std::byte*>(memory), bytes, [&](std::byte* piece, std::int64_t size) {
    tickets.push_back(transport.receive(from, channel, piece, size));
  });
}

// Whether all are done; those that are leave the list.
bool all_done(Transport& transport, std::vector<Ticket>& tickets) {
  std::erase_if(tickets, [&](Ticket ticket) { return transport.done(ticket); });
  return tickets.empty();
}

std::int64_t bytes_of(const Slice& slice) { return slice.size() * static_cast<std::int64_t>(sizeof(float)); }

}  // namespace

ParameterClient::ParameterClient(Communicator& group, const ServerPlan& plan) : group_(group), plan_(plan) {
  ServerMessage message;
  message.kind = ServerMessage::hello;
  message.index = plan.elements;
  for (const ServerMessage& answer : ask(message, nullptr, nullptr, "greeting it"))
    check(answer.fits != 0, "the parameter servers hold {} parameters, and the worker's model has {}", answer.index,
          plan.elements);
}

std::vector<ServerMessage> ParameterClient::ask(ServerMessage message, const float* out, float* in,
                                                std::string_view what) {
  Transport& transport = group_.transport();
  std::vector<ServerMessage> answers(plan_.servers);
  std::vector<std::vector<Ticket>> tickets(plan_.servers);
  for (int server = 0; server < plan_.servers; ++server) {
    const int rank = plan_.rank_of(server);
    const Slice slice = plan_.slice(server);
    receive(transport, rank, kAnswers, &answers[server], sizeof(ServerMessage), tickets[server]);
    if (in != nullptr) receive(transport, rank, kAnswers, in + slice.begin, bytes_of(slice), tickets[server]);
    send(transport, rank, kRequests, &message, sizeof(ServerMessage), tickets[server]);
    if (out != nullptr) send(transport, rank, kRequests, out + slice.begin, bytes_of(slice), tickets[server]);
  }
  const auto all_answered = [&] {
    bool done = true;
    for (std::vector<Ticket>& of_server : tickets) done = all_done(transport, of_server) && done;
    return done;
  };
  group_.wait(all_answered, what, [&] {
    const auto slow = std::ranges::find_if(tickets, [](const auto& t) { return !t.empty(); }) - tickets.begin();
    return fmt::format("the parameter server of rank {}", plan_.rank_of(static_cast<int>(slow)));
  });
  return answers;
}

// A synchronous server tells all workers the same with a step. Asynchronous ones answer at different moments and may
// know different things of a request to stop, so the first one decides.
Pulled ParameterClient::push(const Push& push, const float* gradient, float* parameters) {
  ServerMessage message;
  message.kind = ServerMessage::push;
  message.pushed = push;
  const std::vector<ServerMessage> answers = ask(message, gradient, parameters, "a push of gradients");
  Pulled pulled;
  for (const ServerMessage& answer : answers) {
    pulled.results.push_back(answer.result);
    if (answer.stop_step < 0) pulled.stop_request = std::max(pulled.stop_request, static_cast<int>(answer.stop));
  }
  if (answers[0].stop_step >= 0) {
    pulled.stop_request = static_cast<int>(answers[0].stop);
    pulled.last_step = answers[0].stop_step;
  }
  return pulled;
}

void ParameterClient::fetch(int index, float* arena) {
  ServerMessage message;
  message.kind = ServerMessage::fetch;
  message.index = index;
  ask(message, nullptr, arena, "fetching its state");
}

void ParameterClient::store(int index, const float* arena) {
  ServerMessage message;
  message.kind = ServerMessage::store;
  message.index = index;
  ask(message, arena, nullptr, "storing its state");
}

void ParameterClient::leave() {
  ServerMessage message;
  message.kind = ServerMessage::leave;
  ask(message, nullptr, nullptr, "taking leave of it");
}

// Where a worker stands with this server.
struct ParameterServer::Worker {
  int rank = 0;
  bool left = false;
  bool owed = false;       // a push was received, and is not answered
  bool applied = false;    // that push
  std::int64_t steps = 0;  // that it has pushed
  double result = 0;       // of its last push
  ServerMessage message;   // that arrives, or has arrived
  ServerMessage reply;
  bool has_message = false;  // all of it but its slice
  std::vector<float> gradient;
  std::vector<float> parameters;  // on their way to it, since others may move them meanwhile
  std::vector<Ticket> receiving;
  std::vector<Ticket> sending;
};

ParameterServer::ParameterServer(Communicator& group, const ServerPlan& plan, ParameterStore& store,
                                 std::optional<int> staleness)
    : group_(group),
      plan_(plan),
      slice_(plan.slice(group.rank() - plan.workers)),
      store_(store),
      staleness_(staleness),
      arenas_(store.arenas()) {
  check(plan.workers > 0 && plan.servers > 0 && plan.workers + plan.servers == group.size(),
        "{} workers and {} parameter servers are not the {} ranks there are", plan.workers, plan.servers, group.size());
  check(!staleness || *staleness >= 0, "a staleness of {} steps is not possible", staleness.value_or(0));
  for (int rank = 0; rank < plan.workers; ++rank) {
    workers_.push_back(std::make_unique<Worker>());
    workers_[rank]->rank = rank;
    workers_[rank]->gradient.resize(static_cast<std::size_t>(slice_.size()));
    if (staleness_) workers_[rank]->parameters.resize(workers_[rank]->gradient.size());
  }
}

ParameterServer::~ParameterServer() = default;

// Workers may compute or evaluate for as long as they like; time counts only while some of them wait for others.
void ParameterServer::serve() {
  using Clock = std::chrono::steady_clock;
  constexpr int kSpins = 2000, kYields = 200;
  for (const auto& worker : workers_) receive_message(*worker);
  Clock::time_point moved = Clock::now();
  int idle = 0;
  const auto working = [](const auto& worker) { return !worker->left || !worker->sending.empty(); };
  while (std::ranges::any_of(workers_, working)) {
    if (poll()) {
      idle = 0;
      moved = Clock::now();
      continue;
    }
    ++idle;
    if (idle < kSpins) continue;
    if (idle < kSpins + kYields) {
      std::this_thread::yield();
      continue;
    }
    std::this_thread::sleep_for(std::chrono::microseconds(50));
    check(!waiting() || Clock::now() - moved < group_.timeout(), ErrorCode::device,
          "rank {}, a parameter server, has waited {:.3g} s for {} to push gradients", group_.rank(),
          std::chrono::duration<double>(group_.timeout()).count(), missing());
  }
}

// Whether anything has moved.
bool ParameterServer::poll() {
  bool moved = false;
  for (const auto& worker : workers_) moved |= poll(*worker);
  if (!staleness_) apply_all();
  release();
  return moved;
}

bool ParameterServer::poll(Worker& worker) {
  Transport& transport = group_.transport();
  const bool was_sending = !worker.sending.empty();
  if (was_sending && !all_done(transport, worker.sending)) return false;  // its memory is needed for the next answer
  if (worker.receiving.empty() || !all_done(transport, worker.receiving)) return was_sending;
  if (!worker.has_message) {
    worker.has_message = true;
    bytes_received_ += sizeof(ServerMessage);
    const auto kind = worker.message.kind;
    check(worker.message.index >= 0 && (kind == ServerMessage::hello || worker.message.index < std::ssize(arenas_)),
          ErrorCode::device, "rank {} asks a parameter server for arena {} of {}", worker.rank, worker.message.index,
          arenas_.size());
    if (kind == ServerMessage::push) receive_slice(worker, worker.gradient.data());
    if (kind == ServerMessage::store) receive_slice(worker, arenas_[worker.message.index] + slice_.begin);
    if (!worker.receiving.empty()) return true;
  }
  take(worker);
  return true;
}

void ParameterServer::receive_message(Worker& worker) {
  worker.has_message = false;
  receive(group_.transport(), worker.rank, kRequests, &worker.message, sizeof(ServerMessage), worker.receiving);
}

void ParameterServer::receive_slice(Worker& worker, float* to) {
  receive(group_.transport(), worker.rank, kRequests, to, bytes_of(slice_), worker.receiving);
  bytes_received_ += bytes_of(slice_);
}

// A message that is here as a whole.
void ParameterServer::take(Worker& worker) {
  switch (worker.message.kind) {
    case ServerMessage::push:
      worker.owed = true;
      worker.applied = false;
      ++worker.steps;
      if (staleness_) apply_one(worker);
      return;
    case ServerMessage::hello:
      worker.result = 0;
      break;
    case ServerMessage::leave:
      worker.left = true;
      break;
    default:
      break;
  }
  answer(worker, worker.message.kind == ServerMessage::fetch ? arenas_[worker.message.index] + slice_.begin : nullptr);
}

// Once all workers have pushed; in their order, whoever came first.
void ParameterServer::apply_all() {
  const auto ready = [](const auto& worker) { return worker->owed && !worker->applied; };
  if (!std::ranges::all_of(workers_, ready)) return;
  std::vector<const float*> gradients;
  for (const auto& worker : workers_) gradients.push_back(worker->gradient.data());
  const double result = store_.apply(workers_[0]->message.pushed, gradients, slice_);
  stop_request_ = std::max(stop_request_, store_.stop_request());
  for (const auto& worker : workers_) {
    stop_request_ = std::max(stop_request_, worker->message.pushed.stop_request);
    worker->result = result;
    worker->applied = true;
  }
}

void ParameterServer::apply_one(Worker& worker) {
  const float* gradients[] = {worker.gradient.data()};
  worker.result = store_.apply(worker.message.pushed, gradients, slice_);
  worker.applied = true;
  const int request = std::max(worker.message.pushed.stop_request, store_.stop_request());
  if (request == 0 || stop_request_ != 0) return;
  stop_request_ = request;
  // Nobody is further than in the step after the last that was answered, and nobody will leave it without being told.
  stop_step_ = last_answered_ + 1;
}

// Answers those who are not too far ahead of the slowest.
void ParameterServer::release() {
  std::int64_t slowest = -1;
  for (const auto& worker : workers_)
    if (!worker->left) slowest = slowest < 0 ? worker->steps : std::min(slowest, worker->steps);
  for (const auto& worker : workers_) {
    if (!worker->owed || !worker->applied) continue;
    if (staleness_ && worker->steps - slowest > *staleness_) continue;
    worker->owed = false;
    last_answered_ = std::max(last_answered_, worker->message.pushed.step);
    const float* slice = arenas_[0] + slice_.begin;
    if (staleness_) {
      std::copy_n(slice, worker->parameters.size(), worker->parameters.begin());
      slice = worker->parameters.data();
    }
    answer(*worker, slice);
  }
}

// With a slice or without, and listens to the worker again.
void ParameterServer::answer(Worker& worker, const float* slice) {
  worker.reply = worker.message;
  worker.reply.result = worker.result;
  worker.reply.stop = stop_request_;
  worker.reply.stop_step = stop_step_;
  worker.reply.fits = worker.message.kind != ServerMessage::hello || worker.message.index == plan_.elements ? 1 : 0;
  if (worker.message.kind == ServerMessage::hello) worker.reply.index = plan_.elements;
  Transport& transport = group_.transport();
  send(transport, worker.rank, kAnswers, &worker.reply, sizeof(ServerMessage), worker.sending);
  bytes_sent_ += sizeof(ServerMessage);
  if (slice != nullptr) {
    send(transport, worker.rank, kAnswers, slice, bytes_of(slice_), worker.sending);
    bytes_sent_ += bytes_of(slice_);
  }
  if (!worker.left) receive_message(worker);
}

bool ParameterServer::waiting() const {
  return std::ranges::any_of(workers_, [](const auto& worker) { return worker->owed; });
}

// Those whom the others wait for: who have not pushed, or have pushed least.
std::string ParameterServer::missing() const {
  std::int64_t fewest = workers_[0]->steps;
  for (const auto& worker : workers_)
    if (!worker->left) fewest = std::min(fewest, worker->steps);
  std::vector<std::string> names;
  for (const auto& worker : workers_)
    if (!worker->left && !worker->owed && worker->steps == fewest)
      names.push_back(fmt::format("rank {}", worker->rank));
  return names.empty() ? "its answers to be taken" : fmt::format("{}", fmt::join(names, " and "));
}

namespace {

// Neighbours in a group that is there, with numbers of their own.
class PartTransport final : public Transport {
 public:
  PartTransport(Transport& whole, int first, int count) : whole_(whole), first_(first), count_(count) {}

  int rank() const override { return whole_.rank() - first_; }
  int size() const override { return count_; }
  Ticket send(int to, int channel, const void* memory, std::int64_t bytes) override {
    return whole_.send(first_ + to, channel, memory, bytes);
  }
  Ticket receive(int from, int channel, void* memory, std::int64_t bytes) override {
    return whole_.receive(first_ + from, channel, memory, bytes);
  }
  bool done(Ticket ticket) override { return whole_.done(ticket); }

 private:
  Transport& whole_;
  int first_;
  int count_;
};

class WorkersWorld final : public World {
 public:
  WorkersWorld(World& whole, int workers) : whole_(whole) {
    set_groups(part_of(whole.all(), 0, workers), self_communicator(), part_of(whole.all(), 0, workers));
  }

  [[noreturn]] void abort(int exit_code) override {
    whole_.abort(exit_code);
    std::abort();
  }
  std::string mpi_version() const override { return whole_.mpi_version(); }
  std::string thread_level() const override { return whole_.thread_level(); }

 private:
  World& whole_;
};

}  // namespace

std::unique_ptr<Communicator> part_of(Communicator& group, int first, int count) {
  auto part = std::make_unique<Communicator>(std::make_unique<PartTransport>(group.transport(), first, count));
  part->set_timeout(group.timeout());
  return part;
}

std::unique_ptr<World> world_of_workers(World& whole, int workers) {
  return std::make_unique<WorkersWorld>(whole, workers);
}

}  // namespace lockring::dist
