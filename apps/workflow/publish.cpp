#include "apps/workflow/publish.h"

#include "apps/select/selection.h"
#include "apps/workflow/content.h"
#include "apps/workflow/probe.h"
#include "core/error.h"
#include "core/files.h"

#include <algorithm>

namespace lockring::app::workflow {
namespace fs = std::filesystem;
namespace {

bool is_there(const fs::path& file, const std::string& digest) {
  std::error_code ignored;
  return fs::exists(file, ignored) && content_of(file).digest == digest;
}

}  // namespace

std::vector<Published> publish(const PublishOptions& options) {
  const std::vector<SelectedModel> chosen = read_selection(options.selection).models;
  std::error_code error;
  fs::create_directories(options.folder, error);
  check(!error, ErrorCode::data, "cannot make the folder {}: {}", options.folder.string(), error.message());
  std::vector<Published> published;
  for (std::size_t rank = 0; rank < options.names.size(); ++rank) {
    const SelectedModel& model = chosen[std::min(rank, chosen.size() - 1)];
    const std::string& name = options.names[rank];
    const fs::path file = options.folder / (name + ".safetensors");
    const bool is_new = !is_there(file, model.digest);
    if (is_new) {
      const std::string bundle = read_file(model.bundle);
      check(sha256(bundle) == model.digest, ErrorCode::data, "{} is not the bundle that {} has chosen",
            model.bundle.string(), options.selection.string());
      write_file(file, bundle);
      if (!options.server.empty()) post(options.server + "/v2/repository/models/" + name + "/load");
    }
    published.push_back({name, model.name, is_new});
  }
  return published;
}

}  // namespace lockring::app::workflow
