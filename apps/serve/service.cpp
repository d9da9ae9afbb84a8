#include "apps/serve/service.h"

#include "apps/http/compression.h"
#include "apps/serve/describe.h"
#include "apps/serve/infer.h"
#include "apps/serve/metrics.h"
#include "apps/serve/pages.h"
#include "core/error.h"
#include "core/text.h"

#include <algorithm>
#include <utility>

namespace lockring::app::serve {
namespace {

constexpr int kBackgroundThreads = 2;
constexpr std::size_t kMostBackground = 256;
constexpr std::size_t kMostBackgroundBytes = std::size_t{256} << 20;

[[noreturn]] void not_found(std::string_view path) {
  throw http::StatusError(404, fmt::format("there is nothing at {}", printable(path)));
}

// HEAD is GET without the body, which the HTTP server leaves out.
void check_method(const Call& call, std::string_view allowed) {
  const std::string_view method = call.request->method == "HEAD" ? "GET" : call.request->method;
  if (method == allowed) return;
  throw http::StatusError(405,
                          fmt::format("{} takes {}, not {}", printable(call.request->path), allowed, printable(method)),
                          {{"Allow", allowed == "GET" ? "GET, HEAD" : std::string(allowed)}});
}

std::vector<std::string_view> segments_of(std::string_view path) {
  std::vector<std::string_view> segments;
  if (path.ends_with('/')) path.remove_suffix(1);
  while (!path.empty()) {
    path.remove_prefix(1);
    const std::size_t end = std::min(path.find('/'), path.size());
    segments.push_back(path.substr(0, end));
    path.remove_prefix(end);
  }
  return segments;
}

// https://www.w3.org/TR/trace-context: version-trace-parent-flags, in hexadecimal.
bool is_traceparent(std::string_view text) {
  constexpr std::size_t kLength = 55;
  if (text.size() != kLength) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool dash = i == 2 || i == 35 || i == 52;
    const bool hex = (text[i] >= '0' && text[i] <= '9') || (text[i] >= 'a' && text[i] <= 'f');
    if (dash ? text[i] != '-' : !hex) return false;
  }
  return true;
}

}  // namespace

Service::Service(const ServiceOptions& options, Repository& repository, Samples& samples)
    : options_(options),
      repository_(repository),
      samples_(samples),
      jobs_(options.jobs),
      background_(kBackgroundThreads, kMostBackground, kMostBackgroundBytes) {}

void Service::handle(http::Request&& request, http::Responder responder) {
  Call call{.request = std::make_shared<http::Request>(std::move(request)),
            .respond = {},
            .cancellation = std::make_shared<Cancellation>(),
            .on_event_loop = true,
            .arrived = Clock::now()};
  const std::string accept(call.request->header("accept-encoding"));
  const std::string trace(call.request->header("traceparent"));
  call.respond = [responder, accept, trace](http::Response response) {
    if (is_traceparent(trace)) response.headers.push_back({"traceparent", trace});
    http::encode_body(response, accept);
    responder.send(std::move(response));
  };
  responder.on_gone([cancellation = call.cancellation] { cancellation->cancel(); });
  route(std::move(call));
}

void Service::route(Call call) {
  const std::string_view text = call.request->path;
  const Path path = segments_of(text);
  if (!path.empty() && path[0] == "v2") return route_v2(call, path);
  if (!path.empty() && path[0] == "v1") return route_v1(call, path);
  if (!path.empty() && path[0] == "jobs") return route_jobs(call, path);
  if (text == "/predict") {
    check_method(call, "POST");
    return predict(call);
  }
  if (!route_page(call, text)) not_found(text);
}

bool Service::route_page(Call& call, std::string_view path) {
  std::optional<http::Response> response = page_at(path);
  if (!response && path == "/openapi.json") response = http::json_response(200, openapi_json(repository_));
  if (!response && path == "/metrics") {
    response.emplace();
    response->content_type = "text/plain; version=0.0.4; charset=utf-8";
    response->body.emplace_back(metrics_text(repository_, jobs_) +
                                (options_.http_metrics ? options_.http_metrics() : ""));
  }
  if (!response && path == "/status")
    response = http::json_response(200, status_json(repository_, jobs_, ready_, options_.workflow_run != nullptr));
  if (response) {
    check_method(call, "GET");
    call.respond(std::move(*response));
    return true;
  }
  if (path == "/run.json" && options_.workflow_run) {
    check_method(call, "GET");
    offload(std::move(call), [this](Call& here) { here.respond(http::json_response(200, options_.workflow_run())); });
    return true;
  }
  if (path != "/samples" && !path.starts_with("/samples/")) return false;
  check_method(call, "GET");
  offload(std::move(call), [this, path = std::string(path)](Call& here) {
    if (path == "/samples") return here.respond(http::json_response(200, samples_.list_json()));
    here.respond(samples_.picture(path.substr(std::string_view("/samples/").size())));
  });
  return true;
}

void Service::route_v2(Call& call, const Path& path) {
  const auto is = [&](std::initializer_list<std::string_view> expected) { return std::ranges::equal(path, expected); };
  const auto answer = [&](std::string json, unsigned status = 200) {
    check_method(call, "GET");
    call.respond(http::json_response(status, std::move(json)));
  };
  if (is({"v2"})) return answer(server_json());
  if (is({"v2", "health", "live"})) return answer(R"({"live":true})");
  if (is({"v2", "health", "ready"}))
    return answer(ready_ ? R"({"ready":true})" : R"({"ready":false,"error":"the server is not ready"})",
                  ready_ ? 200 : 503);
  if (is({"v2", "models"})) return answer(models_json(repository_));
  if (is({"v2", "models", "stats"})) return answer(stats_json(repository_.all_versions()));
  if (path.size() >= 3 && path[1] == "models") return route_model(call, path);
  if (path.size() >= 3 && path[1] == "repository") return route_repository(call, path);
  const bool optional = path.size() >= 2 && (path[1] == "logging" || path[1] == "trace" ||
                                             path[1] == "systemsharedmemory" || path[1] == "cudasharedmemory");
  if (optional) throw http::StatusError(501, fmt::format("{} is not offered here", printable(call.request->path)));
  not_found(call.request->path);
}

std::shared_ptr<Servable> Service::served(std::string_view name, std::string_view version) const {
  std::shared_ptr<Servable> servable = repository_.find(std::string(name), std::string(version));
  if (servable != nullptr) return servable;
  const std::string which = printable(name);
  const bool served = repository_.find(std::string(name)) != nullptr;
  for (const IndexRow& row : repository_.index())
    if (row.name == name && (version.empty() || version == row.version || row.version.empty()))
      throw http::StatusError(
          503,
          fmt::format("model '{}'{} is not ready: {}", which,
                      version.empty() ? "" : fmt::format(" version '{}'", printable(version)), row.reason),
          {{"Retry-After", "1"}});
  if (!served && !repository_.knows(std::string(name)))
    throw http::StatusError(404, fmt::format("there is no model '{}'", which));
  throw http::StatusError(404, fmt::format("model '{}' has no version '{}'", which, printable(version)));
}

// /v2/models/M[/versions/V][/WHAT]
void Service::route_model(Call& call, const Path& path) {
  const bool versioned = path.size() >= 5 && path[3] == "versions";
  const std::size_t at = versioned ? 5 : 3;
  if (path.size() > at + 1 || (path.size() == 5 && !versioned)) not_found(call.request->path);
  const std::string_view what = path.size() > at ? path[at] : "";
  constexpr std::string_view kKnown[] = {"", "ready", "config", "stats", "infer"};
  if (std::ranges::find(kKnown, what) == std::end(kKnown)) {
    if (what == "generate" || what == "generate_stream" || what == "trace")
      throw http::StatusError(501, fmt::format("{} is not offered here", what));
    not_found(call.request->path);
  }
  check_method(call, what == "infer" ? "POST" : "GET");
  const std::shared_ptr<Servable> servable = served(path[2], versioned ? path[4] : "");
  if (what == "infer") return infer(call, servable);
  const Description& description = servable->description();
  const auto answer = [&](std::string json) { call.respond(http::json_response(200, std::move(json))); };
  if (what == "ready") return answer(fmt::format(R"({{"name":{},"ready":true}})", http::json_string(description.name)));
  if (what == "config") return answer(config_json(description));
  if (what == "stats" && versioned) return answer(stats_json({servable}));
  if (what == "stats") return answer(stats_json(repository_.all_versions(description.name)));
  answer(metadata_json(description, repository_.all_versions(description.name)));
}

void Service::route_repository(Call& call, const Path& path) {
  if (path.size() == 3 && path[2] == "index") {
    check_method(call, "POST");
    return call.respond(http::json_response(200, index_json(repository_.index(), call.request->body.text())));
  }
  const bool changes = path.size() == 5 && path[2] == "models" && (path[4] == "load" || path[4] == "unload");
  if (!changes) not_found(call.request->path);
  check_method(call, "POST");
  check_parameters_json(call.request->body.text());
  const bool loads = path[4] == "load";
  const std::string name(path[3]);
  offload(std::move(call), [this, name, loads](Call& here) {
    if (!repository_.knows(name)) throw http::StatusError(404, fmt::format("there is no model '{}'", printable(name)));
    if (loads) {
      repository_.load(name);
    } else {
      repository_.unload(name);
    }
    here.respond({.status = 200, .content_type = "application/json", .headers = {}, .body = {}});
  });
}

// /v1/models/M[/versions/V][/metadata], and :predict behind the last segment
void Service::route_v1(Call& call, const Path& path) {
  if (path.size() < 3 || path[1] != "models") not_found(call.request->path);
  std::string_view last = path.back();
  const std::size_t colon = last.find(':');
  const std::string_view verb = colon == std::string_view::npos ? "" : last.substr(colon + 1);
  last = last.substr(0, colon);
  const bool versioned = path.size() >= 5 && path[3] == "versions";
  const bool metadata = path.size() == (versioned ? 6U : 4U) && last == "metadata" && verb.empty();
  if (path.size() != (versioned ? 5U : 3U) && !metadata) not_found(call.request->path);
  const std::string_view name = path.size() == 3 ? last : path[2];
  const std::string_view version = !versioned ? "" : metadata ? path[4] : last;
  if (!verb.empty() && verb != "predict") {
    if (verb == "classify" || verb == "regress")
      throw http::StatusError(501, fmt::format(":{} is not offered here; use :predict", verb));
    not_found(call.request->path);
  }
  check_method(call, verb == "predict" ? "POST" : "GET");
  const std::shared_ptr<Servable> servable = served(name, version);
  if (verb == "predict") return predict_tensorflow(call, servable);
  call.respond(http::json_response(200, metadata ? tensorflow_metadata_json(servable->description())
                                                 : tensorflow_status_json(repository_.index(), name, version)));
}

// /jobs, /jobs/ID, /jobs/ID/result
void Service::route_jobs(Call& call, const Path& path) {
  if (path.size() == 1) {
    check_method(call, "POST");
    return begin_job(call);
  }
  const bool result = path.size() == 3 && path[2] == "result";
  if (path.size() > 3 || (path.size() == 3 && !result)) not_found(call.request->path);
  const std::string id(path[1]);
  if (call.request->method == "DELETE" && !result) {
    const std::optional<JobView> job = jobs_.cancel(id);
    if (!job) throw http::StatusError(404, "there is no such job");
    return call.respond(http::json_response(200, job_json(*job)));
  }
  if (call.request->method != "GET" && call.request->method != "HEAD")
    throw http::StatusError(405, result ? "a job's result takes GET" : "a job takes GET and DELETE",
                            {{"Allow", result ? "GET, HEAD" : "GET, HEAD, DELETE"}});
  show_job(call, id, result);
}

void Service::offload(Call call, std::function<void(Call&)> task) {
  call.on_event_loop = false;
  const Respond respond = call.respond;
  const std::size_t bytes = call.request->body.size();
  const bool taken = background_.post(
      [call = std::move(call), task = std::move(task)]() mutable {
        try {
          task(call);
        } catch (...) {
          call.respond(http::response_to_exception());
        }
      },
      bytes);
  if (!taken) respond(error_of({.outcome = Outcome::full, .message = "too much is being prepared already"}));
}

}  // namespace lockring::app::serve
