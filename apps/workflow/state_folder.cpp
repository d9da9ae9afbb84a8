#include "apps/workflow/state_folder.h"

#include "core/error.h"

namespace lockring::app::workflow {

void StateFolder::make() const {
  for (const std::filesystem::path& folder : {runs(), cache(), outputs(), temporary(), locks()}) {
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    check(!error, ErrorCode::data, "cannot make the folder {}: {}", folder.string(), error.message());
  }
}

}  // namespace lockring::app::workflow
