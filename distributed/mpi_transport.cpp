#include "distributed/mpi_transport.h"

#include "core/error.h"

#include <array>
#include <cassert>

namespace lockring::dist {

void check_mpi(int code, const char* call) {
  if (code == MPI_SUCCESS) return;
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  MPI_Error_string(code, text.data(), &length);
  fail(ErrorCode::device, "{}: {}", call, std::string_view(text.data(), length));
}

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

}  // namespace lockring::dist
