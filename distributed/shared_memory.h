// Memory that the processes of a machine share.
#pragma once

#include "distributed/communicator.h"

#include <cstddef>
#include <cstdint>
#include <memory>

namespace lockring::dist {

// `bytes` of zeros that every rank of `node` sees, aligned to a page. It has no name in any file system, so nothing
// stays behind however the ranks end, and the size of /dev/shm does not limit it. Null, on all ranks, if one of them
// cannot map it.
std::shared_ptr<std::byte> share_memory(Communicator& node, std::int64_t bytes);

}  // namespace lockring::dist
