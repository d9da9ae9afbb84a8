// Messages through MPI. Only mpi_*.cpp files include MPI's header.
#pragma once

#include "distributed/transport.h"

#include <mpi.h>

#include <vector>

namespace lockring::dist {

// Throws Error{device} with MPI's own words unless `code` is success.
void check_mpi(int code, const char* call);

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

  MPI_Comm communicator() const { return communicator_; }

 private:
  Ticket take();

  MPI_Comm communicator_;
  int rank_ = 0;
  int size_ = 0;
  std::vector<MPI_Request> requests_;  // [ticket]
  std::vector<Ticket> free_;
};

}  // namespace lockring::dist
