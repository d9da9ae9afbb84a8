// Builds without MPI: a process is always alone.
#include "distributed/world.h"

namespace lockring::dist {

std::string mpi_library() { return ""; }

std::unique_ptr<World> open_world() { return alone(); }

}  // namespace lockring::dist
