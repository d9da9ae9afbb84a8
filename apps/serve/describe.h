// What the server says of itself and of what it serves, as JSON.
#pragma once

#include "apps/serve/jobs.h"
#include "apps/serve/repository.h"
#include "apps/serve/servable.h"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace lockring::app::serve {

// Open Inference Protocol v2 and Triton's extensions.
std::string server_json();
std::string models_json(const Repository& repository);
// `versions` are those that are served of it, the highest first.
std::string metadata_json(const Description& description, const std::vector<std::shared_ptr<Servable>>& versions);
std::string config_json(const Description& description);
std::string stats_json(const std::vector<std::shared_ptr<Servable>>& servables);
// `request` is the body: empty, or {"ready": bool}. Throws Error{usage} on anything else.
std::string index_json(const std::vector<IndexRow>& rows, std::string_view request);
// Throws Error{usage} unless the body of a load or unload is empty, or an object whose "parameters" are one.
void check_parameters_json(std::string_view body);

// TensorFlow Serving.
// Of the model's rows of the index, those of `version`, or all if that is empty.
std::string tensorflow_status_json(const std::vector<IndexRow>& rows, std::string_view model, std::string_view version);
std::string tensorflow_metadata_json(const Description& description);

std::string job_json(const JobView& job);

// For the page: models, versions, health, counters and quantiles of latency; whether there is a run at /run.
std::string status_json(const Repository& repository, const JobStore& jobs, bool ready, bool has_run);
// OpenAPI 3.0 of all paths, with the models' names and shapes as they are now.
std::string openapi_json(const Repository& repository);

}  // namespace lockring::app::serve
