#include "apps/serve/run_server.h"

#include "apps/device_option.h"
#include "apps/http/server.h"
#include "apps/http/termination.h"
#include "apps/option_values.h"
#include "apps/select/selection.h"
#include "apps/serve/access_log.h"
#include "apps/serve/api_key.h"
#include "apps/serve/repository_poll.h"
#include "apps/serve/service.h"
#include "apps/serve/traffic.h"
#include "apps/terminal.h"
#include "apps/workflow/run_page.h"
#include "core/cpu.h"
#include "core/error.h"
#include "core/files.h"
#include "core/text.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <memory>

namespace lockring::app::serve {
namespace fs = std::filesystem;
namespace {

using std::chrono::milliseconds;

EndpointOptions endpoint_options(const ServeOptions& options) {
  const ReplicaRange replicas = parse_replicas(options.replicas, usable_cores());
  return {.least_replicas = replicas.least,
          .most_replicas = replicas.most,
          .batch = {.max_rows = options.max_batch, .max_delay = std::chrono::microseconds(options.max_delay_us)},
          .max_queue = options.max_queue,
          .max_queue_time = milliseconds(options.max_queue_ms),
          .balance = options.balance,
          .devices = choose_devices_and_say(options.device).devices};
}

// The name of a run tells more than that of its file.
std::string name_of_bundle(const fs::path& path, const std::vector<std::string>& taken) {
  const std::string stem = path.stem().string();
  const fs::path folder = fs::absolute(path).lexically_normal().parent_path().filename();
  return model_name_for(stem == "best" || stem == "last" ? folder.string() : stem, taken);
}

// Reads the selection anew for every load, so that a better one can take its place.
void add_selection(const fs::path& path, Repository& repository, std::vector<std::string>& names) {
  for (const SelectedModel& model : read_selection(path).models) {
    const std::string name = model.name;
    repository.add_bundle(name, [path, name] {
      const Selection selection = read_selection(path);
      const auto found = std::ranges::find(selection.models, name, &SelectedModel::name);
      check(found != selection.models.end(), ErrorCode::data, "{}: has no model '{}' any more", path.string(), name);
      return BundleFile{found->bundle, found->digest};
    });
    names.push_back(name);
  }
}

// Names of what was loaded, in the order of the command line.
std::vector<std::string> add_models(const ServeOptions& options, Repository& repository) {
  std::vector<std::string> names;
  for (const std::string& argument : options.models) {
    if (argument.ends_with(".json")) {
      add_selection(argument, repository, names);
      continue;
    }
    const std::size_t equals = argument.find('=');
    const bool named = equals != std::string::npos && is_model_name(argument.substr(0, equals));
    const fs::path path = named ? argument.substr(equals + 1) : argument;
    names.push_back(named ? argument.substr(0, equals) : name_of_bundle(path, names));
    repository.add_bundle(names.back(), [path] { return BundleFile{path, ""}; });
  }
  if (!options.repository.empty()) repository.add_folder();
  return names;
}

void add_ensemble(const ServeOptions& options, Repository& repository, const std::vector<std::string>& names) {
  const bool automatic = options.ensemble == "auto";
  if (options.ensemble == "none" || names.size() < 2) return;
  check(options.weights.empty() || options.weights.size() == names.size(), "--weights has {} numbers for {} models",
        options.weights.size(), names.size());
  EnsembleOptions ensemble{.name = "ensemble",
                           .members = {},
                           .method = method_named(automatic ? "mean" : options.ensemble),
                           .policy = policy_named(options.policy),
                           .member_timeout = milliseconds(options.member_timeout_ms)};
  for (std::size_t i = 0; i < names.size(); ++i)
    ensemble.members.push_back({names[i], options.weights.empty() ? 1 : options.weights[i]});
  const auto description = [&](const std::string& name) { return repository.find(name)->description(); };
  if (automatic && !std::ranges::all_of(names, [&](const std::string& name) {
        return alike(description(name), description(names.front()));
      }))
    return;  // models of different things are served side by side
  repository.add(
      std::make_shared<Ensemble>(ensemble, [&repository](const std::string& name) { return repository.find(name); }));
}

void add_splits(const ServeOptions& options, Repository& repository) {
  std::vector<SplitOptions> splits;
  for (const std::string& text : options.splits) splits.push_back(parse_split(text));
  for (const std::string& text : options.shadows) add_shadow(text, splits);
  for (const SplitOptions& split : splits)
    repository.add(
        std::make_shared<Split>(split, [&repository](const std::string& name) { return repository.find(name); }));
}

ServiceOptions service_options(const ServeOptions& options, const Repository& repository) {
  ServiceOptions service;
  service.default_model = repository.find("ensemble") != nullptr ? "ensemble" : "";
  service.timeout = milliseconds(options.timeout_ms);
  service.affinity_header = options.affinity_header;
  if (!options.run_page.empty())
    service.workflow_run = [folder = fs::path(options.run_page)] {
      const auto now = std::chrono::system_clock::now().time_since_epoch();
      return workflow::run_page_json(folder, std::chrono::duration<double>(now).count());
    };
  service.jobs = {.most = options.max_jobs, .keep = std::chrono::seconds(options.job_keep_s)};
  return service;
}

// Only those paths take large bodies that have a use for them.
bool takes_large_body(std::string_view path) {
  return path.ends_with("/infer") || path.ends_with(":predict") || path == "/predict" || path == "/jobs";
}

http::ServerOptions server_options(const ServeOptions& options, const std::shared_ptr<AccessLog>& log) {
  http::ServerOptions server = options.listen.server_options();
  server.max_body = [most = options.listen.most_body()](std::string_view method, std::string_view path) {
    constexpr std::size_t kSmall = 64 << 10;
    return method == "POST" && takes_large_body(path) ? most : std::min(most, kSmall);
  };
  if (!options.api_key_file.empty()) server.admit = key_check(options.api_key_file);
  if (log != nullptr) server.on_complete = [log](const http::Completed& completed) { log->write(completed); };
  return server;
}

std::string http_metrics(const http::Counters& counters) {
  std::string text;
  const auto add = [&](const char* name, const char* type, std::int64_t value) {
    text += fmt::format("# TYPE lockring_http_{} {}\nlockring_http_{} {}\n", name, type, name, value);
  };
  add("connections_total", "counter", counters.accepted);
  add("connections_open", "gauge", counters.open);
  add("connections_refused_total", "counter", counters.refused);
  add("requests_total", "counter", counters.requests);
  add("requests_in_flight", "gauge", counters.in_flight);
  add("bad_requests_total", "counter", counters.bad);
  add("timeouts_total", "counter", counters.timeouts);
  add("gone_total", "counter", counters.gone);
  add("bytes_in_total", "counter", counters.bytes_in);
  add("bytes_out_total", "counter", counters.bytes_out);
  return text;
}

void announce(const ServeOptions& options, const Repository& repository, int port) {
  options.listen.note_port(port);
  if (options.quiet) return;
  for (const auto& servable : repository.all()) {
    const Description& description = servable->description();
    print("  {}  version {}  {}\n", description.name, description.version,
          description.architecture.empty() ? description.platform + " of " + std::to_string(description.members.size())
                                           : description.architecture);
  }
  print("serving at {}/\n", options.listen.url(port));
  std::fflush(stdout);
}

// Null if the folder is not to be looked at.
std::unique_ptr<RepositoryPoll> poll_of(const ServeOptions& options, Repository& repository) {
  if (options.repository.empty() || options.repository_poll_seconds == 0) return nullptr;
  const auto interval = milliseconds(std::max<std::int64_t>(1, std::llround(1e3 * options.repository_poll_seconds)));
  return std::make_unique<RepositoryPoll>(repository, interval, [quiet = options.quiet](const std::string& line) {
    if (quiet) return;
    print("  {}\n", line);
    std::fflush(stdout);
  });
}

}  // namespace

int run_server(const ServeOptions& options) {
  check(!options.models.empty() || !options.repository.empty(), "expected a selection, bundles, or --repository");
  http::Termination termination;
  Repository repository(endpoint_options(options), options.repository, VersionPolicies(options.version_policies));
  const std::vector<std::string> names = add_models(options, repository);
  add_ensemble(options, repository, names);
  add_splits(options, repository);
  Samples samples(options.data, repository);
  const auto log = options.access_log.empty() ? nullptr : std::make_shared<AccessLog>(options.access_log);
  http::Server* running = nullptr;
  ServiceOptions of_service = service_options(options, repository);
  of_service.http_metrics = [&running] { return http_metrics(running->counters()); };
  Service service(of_service, repository, samples);
  http::Server server(server_options(options, log),
                      [&service](http::Request&& request, const http::Responder& responder) {
                        service.handle(std::move(request), responder);
                      });
  running = &server;
  service.set_ready(true);  // every model has answered its own sample
  server.start();
  announce(options, repository, server.port());
  print_notes();  // of what answering their own samples has shown
  std::unique_ptr<RepositoryPoll> poll = poll_of(options, repository);
  termination.wait();
  service.set_ready(false);
  const bool drained = options.listen.drain(server);
  poll.reset();
  repository.stop();
  if (!drained && !options.quiet)
    fmt::print(stderr, "lockring: requests that took longer than --drain-ms were cut off\n");
  return 0;
}

}  // namespace lockring::app::serve
