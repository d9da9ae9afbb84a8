// The world of a process that nobody started others with.
#pragma once

#include "core/error.h"
#include "distributed/world.h"

#include <cstdlib>

namespace lockring::dist {

class SelfWorld final : public World {
 public:
  SelfWorld() { set_groups(self_communicator(), self_communicator(), self_communicator()); }

  [[noreturn]] void abort(int exit_code) override { std::_Exit(exit_code); }
  std::string library() const override { return "none"; }
  void library_all_reduce(std::span<float>) override { fail(ErrorCode::usage, "there is no MPI to all-reduce with"); }
};

}  // namespace lockring::dist
