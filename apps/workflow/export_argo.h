// A workflow for a cluster: an Argo Workflow (argoproj.io/v1alpha1) with memoization, whose trainings of several ranks
// are jobs of the MPI operator (kubeflow.org/v2beta1). All pods share a volume, in which outputs lie.
#pragma once

#include "apps/workflow/spec.h"

#include <string>
#include <vector>

namespace lockring::app::workflow {

struct ExportOptions {
  std::string image = "lockring:latest";
  std::string volume = "10Gi";  // size of the shared one
  std::string mount = "/shared";
};

// YAML. Throws Error{data}, with the place, for what a cluster cannot do.
std::string argo_text(const Workflow& workflow, const ExportOptions& options);
// The jobs alone, one document each; "" if nothing trains on several ranks.
std::string mpijob_text(const Workflow& workflow, const ExportOptions& options);

// A name of Kubernetes (RFC 1123): lower-case letters, digits and "-".
std::string cluster_name(const std::string& name);
// Keys of memoized steps by step: digests of how each is made, from the arguments of all that it takes. Digits of a key
// are letters and numbers, as Argo wants them.
std::vector<std::string> recipe_keys(const Workflow& workflow);

}  // namespace lockring::app::workflow
