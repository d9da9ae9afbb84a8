// Stands for nccl_communicator.cpp in programs without NCCL.
#include "core/error.h"
#include "distributed/device_communicator.h"

namespace lockring::dist {

std::vector<std::unique_ptr<DeviceCommunicator>> open_nccl(World&, std::span<const Device>) {
  fail(ErrorCode::usage, "this program was built without NCCL, which adds up between GPUs");
}

bool suits_nccl(World&, std::span<const Device>) { return false; }

std::string nccl_version() { return ""; }

}  // namespace lockring::dist
