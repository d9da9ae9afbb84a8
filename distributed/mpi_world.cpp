// The ranks that mpirun started, and messages between them through MPI.
#include "core/error.h"
#include "distributed/shared_memory.h"
#include "distributed/world.h"

#include <mpi.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cstdlib>

namespace lockring::dist {
namespace {

// Throws Error{device} with MPI's own words unless `code` is success.
void check_mpi(int code, const char* call) {
  if (code == MPI_SUCCESS) return;
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  MPI_Error_string(code, text.data(), &length);
  fail(ErrorCode::device, "{}: {}", call, std::string_view(text.data(), length));
}

// Takes a communicator over, whose errors it has returned to it.
class MpiTransport final : public Transport {
 public:
  explicit MpiTransport(MPI_Comm communicator);
  ~MpiTransport() override;

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  Ticket send(int to, int channel, const void* memory, std::int64_t bytes) override;
  Ticket receive(int from, int channel, void* memory, std::int64_t bytes) override;
  bool done(Ticket ticket) override;
  void library_all_reduce(std::span<float> values) override;

 private:
  Ticket take();

  MPI_Comm communicator_;
  int rank_ = 0;
  int size_ = 0;
  std::vector<MPI_Request> requests_;  // [ticket]
  std::vector<Ticket> free_;
};

MpiTransport::MpiTransport(MPI_Comm communicator) : communicator_(communicator) {
  check_mpi(MPI_Comm_set_errhandler(communicator_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  check_mpi(MPI_Comm_rank(communicator_, &rank_), "MPI_Comm_rank");
  check_mpi(MPI_Comm_size(communicator_, &size_), "MPI_Comm_size");
}

MpiTransport::~MpiTransport() { MPI_Comm_free(&communicator_); }

Ticket MpiTransport::take() {
  if (free_.empty()) {
    free_.push_back(static_cast<Ticket>(requests_.size()));
    requests_.push_back(MPI_REQUEST_NULL);
  }
  const Ticket ticket = free_.back();
  free_.pop_back();
  return ticket;
}

Ticket MpiTransport::send(int to, int channel, const void* memory, std::int64_t bytes) {
  assert(bytes <= kMostBytes);
  const Ticket ticket = take();
  check_mpi(MPI_Isend(memory, static_cast<int>(bytes), MPI_BYTE, to, channel, communicator_, &requests_[ticket]),
            "MPI_Isend");
  return ticket;
}

Ticket MpiTransport::receive(int from, int channel, void* memory, std::int64_t bytes) {
  assert(bytes <= kMostBytes);
  const Ticket ticket = take();
  check_mpi(MPI_Irecv(memory, static_cast<int>(bytes), MPI_BYTE, from, channel, communicator_, &requests_[ticket]),
            "MPI_Irecv");
  return ticket;
}

bool MpiTransport::done(Ticket ticket) {
  int finished = 0;
  check_mpi(MPI_Test(&requests_[ticket], &finished, MPI_STATUS_IGNORE), "MPI_Test");
  if (finished != 0) free_.push_back(ticket);
  return finished != 0;
}

void MpiTransport::library_all_reduce(std::span<float> values) {
  for (std::size_t at = 0; at < values.size(); at += kMostBytes / sizeof(float)) {
    const std::span piece = values.subspan(at, std::min(values.size() - at, kMostBytes / sizeof(float)));
    check_mpi(
        MPI_Allreduce(MPI_IN_PLACE, piece.data(), static_cast<int>(piece.size()), MPI_FLOAT, MPI_SUM, communicator_),
        "MPI_Allreduce");
  }
}

// What mpirun, and srun with PMI, leave in the environment of those they start.
bool started_by_mpi() {
  constexpr const char* kVariables[] = {"OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_RANK", "PMI_SIZE"};
  return std::ranges::any_of(kVariables, [](const char* name) { return std::getenv(name) != nullptr; });
}

std::unique_ptr<Communicator> make_communicator(MPI_Comm communicator) {
  return std::make_unique<Communicator>(std::make_unique<MpiTransport>(communicator));
}

// Whether the ranks of every machine can share memory; if one cannot, then by messages all.
bool all_share_memory(Communicator& all, Communicator& node) {
  double failed[] = {share_memory(node, 1) == nullptr ? 1.0 : 0.0};
  all.all_reduce(std::span<double>(failed));
  return failed[0] == 0;
}

class MpiWorld final : public World {
 public:
  MpiWorld() {
    // One thread at a time talks to MPI, not always the same one.
    int provided = 0;
    check_mpi(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided), "MPI_Init_thread");
    check(provided >= MPI_THREAD_SERIALIZED, ErrorCode::device,
          "MPI was built without support for threads: MPI_THREAD_SERIALIZED is needed");
    check_mpi(MPI_Comm_dup(MPI_COMM_WORLD, &world_), "MPI_Comm_dup");
    int rank = 0, place = 0;
    MPI_Comm_rank(world_, &rank);
    MPI_Comm node = MPI_COMM_NULL, across = MPI_COMM_NULL;
    check_mpi(MPI_Comm_split_type(world_, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node), "MPI_Comm_split_type");
    std::unique_ptr<Communicator> all = make_communicator(world_), neighbours = make_communicator(node);
    if (!all_share_memory(*all, *neighbours)) {
      check_mpi(MPI_Comm_split(world_, rank, 0, &node), "MPI_Comm_split");
      neighbours = make_communicator(node);
    }
    MPI_Comm_rank(node, &place);
    check_mpi(MPI_Comm_split(world_, place, rank, &across), "MPI_Comm_split");
    set_groups(std::move(all), std::move(neighbours), make_communicator(across));
  }

  ~MpiWorld() override {
    leave_groups();
    MPI_Finalize();
  }

  [[noreturn]] void abort(int exit_code) override {
    leave_roster();
    MPI_Abort(MPI_COMM_WORLD, exit_code);
    std::_Exit(exit_code);
  }

  std::string mpi_version() const override { return mpi_library(); }

  std::string thread_level() const override {
    int provided = 0;
    check_mpi(MPI_Query_thread(&provided), "MPI_Query_thread");
    return provided == MPI_THREAD_MULTIPLE ? "multiple" : "serialized";
  }

 private:
  MPI_Comm world_ = MPI_COMM_NULL;  // owned by all()'s transport
};

}  // namespace

std::string mpi_library() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
  int length = 0;
  MPI_Get_library_version(text.data(), &length);
  const std::string_view version(text.data(), static_cast<std::size_t>(length));
  const std::string_view name = version.substr(0, version.find(','));  // "Open MPI v4.1.4, package: ..."
  return std::string(name);
}

std::unique_ptr<World> open_world() {
  if (!started_by_mpi()) return alone();
  return std::make_unique<MpiWorld>();
}

}  // namespace lockring::dist
