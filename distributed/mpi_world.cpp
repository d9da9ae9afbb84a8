#include "core/error.h"
#include "distributed/mpi_transport.h"
#include "distributed/self_world.h"
#include "distributed/world.h"

#include <algorithm>
#include <array>
#include <cstdlib>

namespace lockring::dist {
namespace {

// What mpirun, and srun with PMI, leave in the environment of those they start.
bool started_by_mpi() {
  constexpr const char* kVariables[] = {"OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_RANK", "PMI_SIZE"};
  return std::ranges::any_of(kVariables, [](const char* name) { return std::getenv(name) != nullptr; });
}

std::unique_ptr<Communicator> make_communicator(MPI_Comm communicator) {
  return std::make_unique<Communicator>(std::make_unique<MpiTransport>(communicator));
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
    MPI_Comm_rank(node, &place);
    check_mpi(MPI_Comm_split(world_, place, rank, &across), "MPI_Comm_split");
    set_groups(make_communicator(world_), make_communicator(node), make_communicator(across));
  }

  ~MpiWorld() override {
    leave_groups();
    MPI_Finalize();
  }

  [[noreturn]] void abort(int exit_code) override {
    MPI_Abort(MPI_COMM_WORLD, exit_code);
    std::_Exit(exit_code);
  }

  std::string library() const override {
    std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
    int length = 0;
    MPI_Get_library_version(text.data(), &length);
    const std::string_view version(text.data(), length);
    const std::string_view name = version.substr(0, version.find(','));  // "Open MPI v4.1.4, package: ..."
    return std::string(name);
  }

  void library_all_reduce(std::span<float> values) override {
    for (std::size_t at = 0; at < values.size(); at += Transport::kMostBytes / sizeof(float)) {
      const std::span piece = values.subspan(at, std::min(values.size() - at, Transport::kMostBytes / sizeof(float)));
      check_mpi(MPI_Allreduce(MPI_IN_PLACE, piece.data(), static_cast<int>(piece.size()), MPI_FLOAT, MPI_SUM, world_),
                "MPI_Allreduce");
    }
  }

 private:
  MPI_Comm world_ = MPI_COMM_NULL;  // owned by all()'s transport
};

}  // namespace

std::unique_ptr<World> open_world() {
  if (!started_by_mpi()) return std::make_unique<SelfWorld>();
  return std::make_unique<MpiWorld>();
}

}  // namespace lockring::dist
