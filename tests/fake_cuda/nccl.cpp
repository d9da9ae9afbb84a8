#include <nccl.h>

#include "tests/fake_cuda/machine.h"
#include "tests/fake_cuda/nccl_shared.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

using namespace fake_cuda;

namespace {

// What one rank asked for.
struct Request {
  const void* from = nullptr;
  void* to = nullptr;
  cudaStream_t stream = nullptr;
  bool asked = false;
  bool reached = false;  // by the rank's stream
};

// One operation of all ranks.
struct Collective {
  bool reduces;  // else the root's bytes go to all
  std::size_t count;
  ncclDataType_t type;
  int root;
  bool broken;
  std::vector<Request> requests;
  bool done = false;

  std::string text() const {
    return (reduces ? "sum of " : "broadcast of ") + std::to_string(count) + " of type " + std::to_string(type) +
           " from " + std::to_string(root);
  }
};

// The ranks that have one id.
struct Clique {
  Clique(const std::string& id, int ranks) : members(static_cast<std::size_t>(ranks)), shared(id, ranks) {}

  std::vector<ncclComm_t> members;              // null: of another process, or has not come
  std::deque<std::shared_ptr<Collective>> all;  // in their order
  SharedClique shared;
  bool is_of_one_process() const { return std::ranges::count(members, nullptr) == 0; }
};

}  // namespace

struct ncclComm {
  std::shared_ptr<Clique> clique;
  int rank;
  int device;
  std::size_t asked = 0;
  int pending = 0;
  bool aborted = false;
  ncclResult_t error = ncclSuccess;
};

namespace {

std::map<std::string, std::shared_ptr<Clique>>& cliques() {
  static auto* map = new std::map<std::string, std::shared_ptr<Clique>>;
  return *map;
}

// Those that live.
std::vector<ncclComm_t>& comms() {
  static auto* list = new std::vector<ncclComm_t>;
  return *list;
}

bool break_next = false;
thread_local int group_depth = 0;
thread_local std::vector<std::function<ncclResult_t()>> grouped;  // what the group's end does

ncclResult_t refused(ncclResult_t result, const std::string& what) {
  misuse(cudaErrorInvalidValue, what);
  cudaGetLastError();  // it is no error of CUDA's
  return result;
}

ncclResult_t now_or_at_the_end(std::function<ncclResult_t()> call) {
  if (group_depth == 0) return call();
  grouped.push_back(std::move(call));
  return ncclSuccess;
}

std::size_t size_of(ncclDataType_t type) { return type == ncclDouble ? 8 : type == ncclFloat ? 4 : 1; }

// What becomes of the ranks' vectors.
template <class T>
std::vector<char> sum_of(const Collective& collective, const std::vector<const void*>& from) {
  std::vector<T> sum(collective.count);
  for (const void* vector : from)
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += static_cast<const T*>(vector)[i];
  const auto* begin = reinterpret_cast<const char*>(sum.data());
  return {begin, begin + sum.size() * sizeof(T)};
}
std::vector<char> result_of(const Collective& collective, const std::vector<const void*>& from) {
  if (collective.reduces && collective.type == ncclDouble) return sum_of<double>(collective, from);
  if (collective.reduces) return sum_of<float>(collective, from);
  const auto* begin = static_cast<const char*>(from[static_cast<std::size_t>(collective.root)]);
  return {begin, begin + collective.count * size_of(collective.type)};
}

void perform(Collective& collective) {
  std::vector<const void*> from;
  for (const Request& request : collective.requests) from.push_back(request.from);
  const std::vector<char> result = result_of(collective, from);
  for (const Request& request : collective.requests) std::memcpy(request.to, result.data(), result.size());
  collective.done = true;
}

// The same where ranks are processes: each puts in what it has, and takes the result by itself.
bool meet_others(Collective& collective, ncclComm_t comm, std::int64_t number) {
  if (comm->aborted) return true;
  SharedClique& shared = comm->clique->shared;
  Request& mine = collective.requests[comm->rank];
  if (!mine.reached)
    mine.reached =
        shared.put(comm->rank, number, collective.text(), mine.from, collective.count * size_of(collective.type));
  if (!mine.reached || !shared.all_put(number)) return false;
  std::vector<const void*> from;
  for (int rank = 0; rank < static_cast<int>(collective.requests.size()); ++rank) {
    if (shared.what(rank) != collective.text()) comm->error = ncclInvalidUsage;
    from.push_back(shared.bytes_of(rank));
  }
  if (comm->error != ncclSuccess) return false;
  const std::vector<char> result = result_of(collective, from);
  std::memcpy(mine.to, result.data(), result.size());
  shared.take(comm->rank, number);
  return true;
}

// A rank's part of a collective, on its stream: waits for the streams of the others to come to theirs.
bool meet(Collective& collective, ncclComm_t comm) {
  Request& mine = collective.requests[comm->rank];
  mine.reached = true;
  if (comm->aborted) {
    collective.broken |= !collective.done;
    return true;
  }
  if (collective.broken) comm->error = ncclRemoteError;
  if (collective.broken || std::ranges::any_of(collective.requests, [](const Request& r) { return !r.asked; }))
    return false;
  for (Request& other : collective.requests)
    while (!other.reached)
      if (!run_first(other.stream) && !other.reached) return false;
  if (!collective.done) perform(collective);
  return true;
}

ncclResult_t check_request(const Collective& asked, const Request& request, ncclComm_t comm) {
  if (std::ranges::count(comms(), comm) != 1) return refused(ncclInvalidArgument, "a communicator that does not live");
  if (cudaPeekAtLastError() != cudaSuccess) return refused(ncclUnhandledCudaError, "an error that nobody has taken");
  if (comm->aborted || comm->error != ncclSuccess) return refused(ncclInvalidUsage, "a communicator that has failed");
  const int ranks = static_cast<int>(comm->clique->members.size());
  if (asked.root < 0 || asked.root >= ranks) return refused(ncclInvalidArgument, "a root that is no rank");
  if (asked.reduces && asked.type != ncclFloat && asked.type != ncclDouble)
    return refused(ncclInvalidArgument, "a sum of a type that is not emulated");
  const std::size_t bytes = asked.count * size_of(asked.type);
  for (const void* side : {request.from, static_cast<const void*>(request.to)})
    if (bytes > 0 && !on_device(side, bytes, comm->device))
      return refused(ncclInvalidArgument, "memory that is not the communicator's device's");
  const auto *from = static_cast<const char*>(request.from), *to = static_cast<const char*>(request.to);
  if (from != to && from < to + bytes && to < from + bytes)
    return refused(ncclInvalidArgument, "two sides that overlap but are not the same");
  if (!is_stream_of(request.stream, comm->device))
    return refused(ncclInvalidUsage, "a stream that is not of the communicator's device");
  return ncclSuccess;
}

ncclResult_t ask(const Collective& asked, Request request, ncclComm_t comm) {
  const std::lock_guard lock(machine_lock());
  if (const ncclResult_t result = check_request(asked, request, comm); result != ncclSuccess) return result;
  auto& all = comm->clique->all;
  if (comm->asked == all.size()) {
    all.push_back(std::make_shared<Collective>(asked));
    all.back()->requests.resize(comm->clique->members.size());
    all.back()->broken = std::exchange(break_next, false);
  }
  const std::shared_ptr<Collective> collective = all[comm->asked];
  if (collective->text() != asked.text())
    return refused(ncclInvalidArgument, "another collective than the other ranks'");
  const auto number = static_cast<std::int64_t>(comm->asked++);
  ++comm->pending;
  request.asked = true;
  collective->requests[comm->rank] = request;
  enqueue_waiting(request.stream, [collective, comm, number] {
    const bool alone = comm->clique->is_of_one_process();
    if (!(alone ? meet(*collective, comm) : meet_others(*collective, comm, number))) return false;
    --comm->pending;
    return true;
  });
  return ncclSuccess;
}

constexpr const char* kIds = "lockring-fake-nccl-";
std::string own_ids() { return kIds + std::to_string(getpid()) + "-"; }

// Takes the rank's place; the caller waits for the others then.
ncclResult_t join(ncclComm_t* comm, int ranks, const std::string& id, int rank, int device) {
  if (ranks < 1 || rank < 0 || rank >= ranks) return refused(ncclInvalidArgument, "a rank that cannot be");
  const bool of_another_process = id.starts_with(kIds) && !id.starts_with(own_ids());
  if (of_another_process) cliques().try_emplace(id);
  const auto found = cliques().find(id);
  if (found == cliques().end()) return refused(ncclInvalidArgument, "an id that ncclGetUniqueId did not give");
  std::shared_ptr<Clique>& clique = found->second;
  if (clique == nullptr) clique = std::make_shared<Clique>(id, ranks);
  if (std::ssize(clique->members) != ranks) return refused(ncclInvalidArgument, "another number of ranks");
  if (clique->members[rank] != nullptr) return refused(ncclInvalidUsage, "a rank that is there already");
  for (const ncclComm_t other : clique->members)
    if (other != nullptr && other->device == device) return refused(ncclInvalidUsage, "a device of two ranks");
  *comm = new ncclComm{clique, rank, device};
  clique->members[rank] = *comm;
  clique->shared.join(rank);
  comms().push_back(*comm);
  return ncclSuccess;
}

// The original's last communicator of a process cleans up after the others, and leaves another device current.
void end_elsewhere(const ncclComm& comm) { cudaSetDevice((comm.device + 1) % kDevices); }

}  // namespace

cudaError_t fake_cuda::check_nobody_waits(const char* call) {
  const bool awaited = std::ranges::any_of(comms(), [](ncclComm_t comm) {
    return comm->device == current_device() && comm->asked < comm->clique->all.size() &&
           !comm->clique->all[comm->asked]->broken;
  });
  if (!awaited) return cudaSuccess;
  return misuse(cudaErrorInvalidValue, std::string(call) + " while other devices wait in NCCL for this one");
}

void fake_cuda::break_next_collective() {
  const std::lock_guard lock(machine_lock());
  break_next = true;
}

const char* ncclGetErrorString(ncclResult_t result) {
  constexpr const char* kTexts[] = {"no error",
                                    "unhandled cuda error",
                                    "unhandled system error",
                                    "internal error",
                                    "invalid argument",
                                    "invalid usage",
                                    "remote process exited or there was a network error",
                                    "in progress"};
  return kTexts[result];
}

const char* ncclGetLastError(ncclComm_t) {
  thread_local std::string text;
  text = last_misuse();
  return text.c_str();
}

ncclResult_t ncclGetVersion(int* version) {
  *version = 22809;
  return ncclSuccess;
}

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  const std::lock_guard lock(machine_lock());
  static int count = 0;
  const std::string text = own_ids() + std::to_string(++count);
  std::memset(id->internal, 0, sizeof(id->internal));
  std::memcpy(id->internal, text.data(), text.size());
  cliques()[text] = nullptr;
  return ncclSuccess;
}

ncclResult_t ncclCommInitRank(ncclComm_t* comm, int ranks, ncclUniqueId id, int rank) {
  {
    const std::lock_guard lock(machine_lock());
    const ncclResult_t result = join(comm, ranks, id.internal, rank, current_device());
    if (result != ncclSuccess) return result;
  }
  return now_or_at_the_end([clique = (*comm)->clique] {
    run_until([&] { return clique->shared.all_joined(); });
    return ncclSuccess;
  });
}

ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  const std::lock_guard lock(machine_lock());
  if (std::ranges::count(comms(), comm) != 1) return refused(ncclInvalidArgument, "a communicator that does not live");
  if (comm->pending > 0) return refused(ncclInvalidUsage, "a communicator that still works");
  end_elsewhere(*comm);
  std::erase(comms(), comm);
  delete comm;
  return ncclSuccess;
}

// The work that is on streams still refers to it.
ncclResult_t ncclCommAbort(ncclComm_t comm) {
  const std::lock_guard lock(machine_lock());
  if (std::erase(comms(), comm) != 1) return refused(ncclInvalidArgument, "a communicator that does not live");
  comm->aborted = true;
  end_elsewhere(*comm);
  return ncclSuccess;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* error) {
  const std::lock_guard lock(machine_lock());
  if (std::ranges::count(comms(), comm) != 1) return refused(ncclInvalidArgument, "a communicator that does not live");
  *error = comm->error;
  return ncclSuccess;
}

ncclResult_t ncclGroupStart() {
  ++group_depth;
  return ncclSuccess;
}

ncclResult_t ncclGroupEnd() {
  if (group_depth == 0) return refused(ncclInvalidUsage, "a group that has not begun");
  if (--group_depth > 0) return ncclSuccess;
  ncclResult_t result = ncclSuccess;
  for (const auto& call : std::exchange(grouped, {}))
    if (const ncclResult_t status = call(); result == ncclSuccess) result = status;
  return result;
}

ncclResult_t ncclAllReduce(const void* from, void* to, std::size_t count, ncclDataType_t type, ncclRedOp_t op,
                           ncclComm_t comm, cudaStream_t stream) {
  if (op != ncclSum) return refused(ncclInvalidArgument, "a reduction that is not emulated");
  return now_or_at_the_end([=] { return ask({true, count, type, 0, false, {}}, {from, to, stream}, comm); });
}

ncclResult_t ncclBroadcast(const void* from, void* to, std::size_t count, ncclDataType_t type, int root,
                           ncclComm_t comm, cudaStream_t stream) {
  return now_or_at_the_end([=] { return ask({false, count, type, root, false, {}}, {from, to, stream}, comm); });
}
