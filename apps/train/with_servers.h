// `lockring train --strategy parameter-server`: the last ranks of the job keep the parameters, the others train.
#pragma once

#include "apps/train/options.h"
#include "distributed/world.h"
#include "models/models.h"

#include <optional>
#include <string>

namespace lockring::app {

// Trains, or serves, as is this rank's part in the job. Returns the process's exit code. Throws Error{usage} on options
// that do not go with parameter servers.
int train_with_servers(TrainOptions options);

// Nothing when synchronous.
std::optional<int> staleness_of(const TrainOptions& options);

// "2 workers and 1 parameter server, synchronous"
std::string servers_text(const TrainOptions& options, int workers);

// What images the model is for: the first rank tells all others, servers too, which read no data set. By all ranks of
// `whole` at the same time.
models::ImageSpec share_image_spec(dist::World& whole, const models::ImageSpec& images);

}  // namespace lockring::app
