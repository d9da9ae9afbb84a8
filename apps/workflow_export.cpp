// lockring workflow export and publish: to clusters, and to running servers.
#include "apps/command.h"
#include "apps/option_values.h"
#include "apps/terminal.h"
#include "apps/workflow/export_argo.h"
#include "apps/workflow/file_options.h"
#include "apps/workflow/publish.h"
#include "core/error.h"
#include "core/text.h"

#include <CLI/CLI.hpp>

#include <memory>

namespace lockring::app {
using namespace workflow;
namespace {

struct Options {
  FileOptions workflow;
  std::string target = "argo";
  ExportOptions exported;
  PublishOptions published;
  std::string selection;
  std::string into;
};

int export_workflow(const Options& options) {
  const Workflow workflow = options.workflow.read();
  if (options.target == "argo") {
    print_text(argo_text(workflow, options.exported));
    return 0;
  }
  const std::string jobs = mpijob_text(workflow, options.exported);
  check(!jobs.empty(), "{} has no training on several ranks, which would be a job", options.workflow.file);
  print_text(jobs);
  return 0;
}

int publish_models(const Options& options) {
  PublishOptions published = options.published;
  published.selection = options.selection;
  published.folder = options.into;
  for (const Published& model : publish(published))
    print("{}: {}{}\n", model.name, printable(model.model), model.is_new ? "" : ", as before");
  return 0;
}

}  // namespace

Action workflow_export(CLI::App& app) {
  auto options = std::make_shared<Options>();
  add_file_options(app, options->workflow);
  app.add_option("--to", options->target, "argo: an Argo Workflow; mpijob: its jobs of the MPI operator alone")
      ->check(one_of({"argo", "mpijob"}));
  app.add_option("--image", options->exported.image, "container image with this program");
  app.add_option("--volume", options->exported.volume, "size of the volume that all share");
  app.footer("Example:\n  lockring workflow export workflows/fashion_mnist.yaml --to argo > fashion_mnist.argo.yaml");
  return [options] { return export_workflow(*options); };
}

Action workflow_publish(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("SELECTION", options->selection, "selection.json, as lockring select writes it")->required();
  app.add_option("--into", options->into, "folder of the bundles that a server serves")
      ->required()
      ->configurable(false)
      ->type_name("DIR");
  app.add_option("--as", options->published.names, "name of the best model, then of the next, and so on")
      ->required()
      ->allow_extra_args(false)
      ->configurable(false)
      ->type_name("NAME");
  app.add_option("--server", options->published.server, "server that is to load those that are new")
      ->configurable(false)
      ->type_name("URL");
  app.footer("Example:\n  lockring workflow publish selection.json --into models --as first --as second");
  return [options] { return publish_models(*options); };
}

}  // namespace lockring::app
