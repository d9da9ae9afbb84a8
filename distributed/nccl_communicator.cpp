// NCCL between the GPUs of one process or of many: https://docs.nvidia.com/deeplearning/nccl
#include "core/cuda/check.h"
#include "core/cuda/stream.h"
#include "core/error.h"
#include "distributed/device_communicator.h"

#include <fmt/ranges.h>
#include <nccl.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <map>
#include <mutex>
#include <sstream>
#include <thread>

namespace lockring::dist {
namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* kExchange = "an exchange through NCCL";

void check_nccl(ncclResult_t result, ncclComm_t comm, const char* call) {
  if (result == ncclSuccess) [[likely]]
    return;
  const std::string_view detail = ncclGetLastError(comm);
  fail(ErrorCode::device, "{}: {}{}{}", call, ncclGetErrorString(result), detail.empty() ? "" : ": ", detail);
}

// What the replicas of a process know of each other.
class Members {
 public:
  Members(World& world, std::span<const Device> devices)
      : world_(world), devices_(devices.begin(), devices.end()), asked_(devices.size()) {}

  World& world() const { return world_; }
  void note(std::size_t place) { asked_[place].fetch_add(1, std::memory_order_relaxed); }

  // Those who have asked for less than `place` has.
  std::string behind(std::size_t place) const {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < devices_.size(); ++i)
      if (asked_[i] < asked_[place]) names.push_back(fmt::format("replica {} ({})", i, to_string(devices_[i])));
    return fmt::format("{}", fmt::join(names, ", "));
  }

  // The first failure is everyone's.
  void report(const std::string& failure) {
    const std::lock_guard lock(mutex_);
    if (!failed_) failure_ = failure;
    failed_ = true;
  }
  void check_failure() const {
    if (!failed_) [[likely]]
      return;
    const std::lock_guard lock(mutex_);
    fail(ErrorCode::device, "{}", failure_);
  }

 private:
  World& world_;
  const std::vector<Device> devices_;
  std::vector<std::atomic<std::int64_t>> asked_;
  mutable std::mutex mutex_;
  std::atomic<bool> failed_ = false;
  std::string failure_;
};

class NcclCommunicator final : public DeviceCommunicator {
 public:
  // Takes the communicator over, which is of the current GPU; the replica's place among those of this process.
  NcclCommunicator(std::shared_ptr<Members> members, std::size_t place, Device device, ncclComm_t comm, int rank,
                   int size)
      : members_(std::move(members)), place_(place), device_(device), comm_(comm), rank_(rank), size_(size) {}
  ~NcclCommunicator() override;

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  Device device() const override { return device_; }

  void follow_thread() override;
  void all_reduce(std::span<float> values) override { add_up(values.data(), values.size(), ncclFloat); }
  void all_reduce(std::span<double> values) override { add_up(values.data(), values.size(), ncclDouble); }
  void broadcast(std::span<std::byte> bytes, int root) override;
  void hold_thread() override;
  void wait() override;
  void abandon(const std::string& why) override;

 private:
  template <class Call>
  void ask(Call call);
  void add_up(void* values, std::size_t count, ncclDataType_t type);
  bool look(Clock::time_point start);
  void wait_until_done();
  void give_up() noexcept;

  const std::shared_ptr<Members> members_;
  const std::size_t place_;
  const Device device_;
  ncclComm_t comm_;  // null: given up
  const int rank_;
  const int size_;
  cuda::Stream stream_;
  cuda::Event asked_;  // of the thread's stream
  cuda::Event done_;   // of our own
};

// Waiting here for members who may have failed would be for ever.
NcclCommunicator::~NcclCommunicator() {
  try {
    cuda::select_gpu(device_.index);
    done_.record(stream_.get());
    for (int i = 0; comm_ != nullptr && !done_.done(); ++i) {
      constexpr int kMostPolls = 1000;
      if (i == kMostPolls) give_up();
    }
  } catch (const Error&) {
    give_up();
  }
  if (comm_ == nullptr) return;
  ncclCommDestroy(comm_);
  cudaSetDevice(device_.index);
}

// The last of a process cleans up after all, and may end on another's GPU.
void NcclCommunicator::give_up() noexcept {
  if (comm_ == nullptr) return;
  ncclCommAbort(comm_);
  comm_ = nullptr;
  cudaSetDevice(device_.index);
}

void NcclCommunicator::abandon(const std::string& why) {
  members_->report(why);
  give_up();
}

// Whoever fails lets go of the others.
template <class Call>
void NcclCommunicator::ask(Call call) {
  cuda::select_gpu(device_.index);
  try {
    members_->check_failure();
    call();
  } catch (const Error& error) {
    abandon(error.what());
    throw;
  }
}

void NcclCommunicator::add_up(void* values, std::size_t count, ncclDataType_t type) {
  ask([&] {
    check_nccl(ncclAllReduce(values, values, count, type, ncclSum, comm_, stream_.get()), comm_, "ncclAllReduce");
    members_->note(place_);
  });
}

void NcclCommunicator::broadcast(std::span<std::byte> bytes, int root) {
  ask([&] {
    check_nccl(ncclBroadcast(bytes.data(), bytes.data(), bytes.size(), ncclUint8, root, comm_, stream_.get()), comm_,
               "ncclBroadcast");
    members_->note(place_);
  });
}

void NcclCommunicator::follow_thread() {
  cuda::select_gpu(device_.index);
  asked_.record(cuda::current_stream());
  asked_.hold(stream_.get());
}

void NcclCommunicator::hold_thread() {
  cuda::select_gpu(device_.index);
  done_.record(stream_.get());
  done_.hold(cuda::current_stream());
}

bool NcclCommunicator::look(Clock::time_point start) {
  members_->check_failure();
  ncclResult_t state = ncclSuccess;
  check_nccl(ncclCommGetAsyncError(comm_, &state), comm_, "ncclCommGetAsyncError");
  check_nccl(state, comm_, kExchange);
  if (done_.done()) return true;
  const auto timeout = members_->world().all().timeout();
  if (Clock::now() - start < timeout) return false;
  const std::string behind = members_->behind(place_);
  check(behind.empty(), ErrorCode::device, "waited more than {:.3g} s in {}; missing: {}",
        std::chrono::duration<double>(timeout).count(), kExchange, behind);
  return false;
}

// Ranks that wait in vain call the roll; one replica speaks for each.
void NcclCommunicator::wait_until_done() {
  Communicator& all = members_->world().all();
  const auto ready = [this, start = Clock::now()] { return look(start); };
  if (place_ == 0 && all.size() > 1)
    all.wait_together(ready, kExchange, [] { return -1; });
  else
    all.wait(ready, kExchange, [] { return "the other members"; });
}

void NcclCommunicator::wait() {
  ask([&] {
    done_.record(stream_.get());
    wait_until_done();
  });
}

// What joins the ranks waits for all of them, for ever, so it has a thread of its own.
struct Joining {
  std::vector<ncclComm_t> comms;
  std::atomic<bool> done = false;
  std::string failure;

  void run(const ncclUniqueId& id, const std::vector<Device>& devices, int first, int size) {
    try {
      check_nccl(ncclGroupStart(), nullptr, "ncclGroupStart");
      for (std::size_t i = 0; i < devices.size(); ++i) {
        cuda::select_gpu(devices[i].index);
        check_nccl(ncclCommInitRank(&comms[i], size, id, first + static_cast<int>(i)), nullptr, "ncclCommInitRank");
      }
      check_nccl(ncclGroupEnd(), nullptr, "NCCL's start");
    } catch (const Error& error) {
      failure = error.what();
    }
    done = true;
  }
};

std::vector<ncclComm_t> join(World& world, std::span<const Device> devices, int first, int size) {
  ncclUniqueId id{};
  if (world.rank() == 0) check_nccl(ncclGetUniqueId(&id), nullptr, "ncclGetUniqueId");
  world.all().broadcast(std::as_writable_bytes(std::span(id.internal)), 0);
  auto joining = std::make_shared<Joining>();
  joining->comms.resize(devices.size());
  std::thread thread([joining, id, own = std::vector(devices.begin(), devices.end()), first, size] {
    joining->run(id, own, first, size);
  });
  try {
    world.all().wait_together([&] { return joining->done.load(); }, "NCCL's start", [] { return -1; });
  } catch (const Error&) {
    thread.detach();
    throw;
  }
  thread.join();
  check(joining->failure.empty(), ErrorCode::device, "{}", joining->failure);
  return joining->comms;
}

// What names a GPU on its machine, whatever number it has for a process.
std::string bus_address(Device device) {
  std::array<char, 32> text{};
  LOCKRING_CHECK_CUDA(cudaDeviceGetPCIBusId(text.data(), static_cast<int>(text.size()), device.index));
  return text.data();
}

struct Place {
  int first = 0;       // of this rank's replicas
  int size = 0;        // replicas of all ranks
  std::string shared;  // which GPU two replicas have, if any has
};

Place find_place(World& world, std::span<const Device> devices) {
  std::string own;
  for (const Device device : devices) own += bus_address(device) + " ";
  Place place;
  std::map<std::string, int> owners;  // "address of host", rank
  for (int rank = 0; const std::string& text : world.all().all_gather(own)) {
    if (rank == world.rank()) place.first = place.size;
    std::istringstream addresses(text);
    for (std::string address; addresses >> address; ++place.size) {
      const std::string name = address + " of " + world.host(rank);
      const auto [owner, is_new] = owners.emplace(name, rank);
      if (!is_new) place.shared = fmt::format("ranks {} and {} both have {}", owner->second, rank, name);
    }
    ++rank;
  }
  return place;
}

}  // namespace

std::vector<std::unique_ptr<DeviceCommunicator>> open_nccl(World& world, std::span<const Device> devices) {
  check(!devices.empty() && std::ranges::all_of(devices, [](Device d) { return d.kind == DeviceKind::cuda; }),
        "NCCL adds up between GPUs only; replicas compute on the CPU here");
  // Members connect when they join, where a missing one is found out, and not in the first exchange, on our thread.
  setenv("NCCL_RUNTIME_CONNECT", "0", 0);
  for (const Device device : devices) cuda::select_gpu(device.index);  // all are there
  const Place place = find_place(world, devices);
  check(place.shared.empty(), "NCCL needs a GPU for each replica: {}", place.shared);
  const std::vector<ncclComm_t> comms = join(world, devices, place.first, place.size);
  auto members = std::make_shared<Members>(world, devices);
  std::vector<std::unique_ptr<DeviceCommunicator>> result;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    cuda::select_gpu(devices[i].index);
    result.push_back(std::make_unique<NcclCommunicator>(members, i, devices[i], comms[i],
                                                        place.first + static_cast<int>(i), place.size));
  }
  return result;
}

bool suits_nccl(World& world, std::span<const Device> devices) {
  const bool on_gpus =
      !devices.empty() && std::ranges::all_of(devices, [](Device d) { return d.kind == DeviceKind::cuda; });
  const std::vector<std::string> answers = world.all().all_gather(on_gpus ? "yes" : "no");
  return std::ranges::count(answers, "yes") == std::ssize(answers) && find_place(world, devices).shared.empty();
}

std::string nccl_version() {
  int version = 0;
  if (ncclGetVersion(&version) != ncclSuccess) return "";
  return fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
}

}  // namespace lockring::dist
