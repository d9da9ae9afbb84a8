// lockring balance: one address in front of many servers.
#include "apps/balance/health_checks.h"
#include "apps/balance/metrics.h"
#include "apps/balance/proxy.h"
#include "apps/command.h"
#include "apps/http/fetch.h"
#include "apps/http/termination.h"
#include "apps/http/tls.h"
#include "apps/listen_options.h"
#include "apps/option_values.h"
#include "apps/terminal.h"
#include "core/text.h"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <cstdio>
#include <memory>

namespace lockring::app {
namespace {

using balance::Backends;
using std::chrono::milliseconds;

struct Options {
  std::vector<std::string> backends;
  ListenOptions listen{.port = 8080};
  std::string policy = "least-connections";
  std::string hash_header;
  std::int64_t timeout_ms = 30'000, connect_timeout_ms = 1000;
  std::string health_target = "/v2/health/ready";
  std::int64_t health_interval_ms = 2000, health_timeout_ms = 1000;
  int fall = 3, rise = 2, eject_after = 5;
  std::int64_t eject_ms = 30'000, slow_start_ms = 10'000;
  double max_ejected = 0.5, retry_share = 0.2;
  bool insecure = false;
  std::string authorities;
  bool json = false;
};

balance::HealthOptions health_options(const Options& options) {
  balance::HealthOptions health;
  health.interval = milliseconds(options.health_interval_ms);
  health.timeout = milliseconds(options.health_timeout_ms);
  health.target = options.health_target;
  health.fall = options.fall;
  health.rise = options.rise;
  health.eject_after = options.eject_after;
  health.eject_time = milliseconds(options.eject_ms);
  health.most_ejected = options.max_ejected;
  health.slow_start = milliseconds(options.slow_start_ms);
  return health;
}

balance::ProxyOptions proxy_options(const Options& options) {
  balance::ProxyOptions proxy;
  proxy.policy = options.policy;
  proxy.hash_header = options.hash_header;
  proxy.health = health_options(options);
  proxy.timeout = milliseconds(options.timeout_ms);
  proxy.connect_timeout = milliseconds(options.connect_timeout_ms);
  proxy.retry_share = options.retry_share;
  return proxy;
}

// The first of its addresses that takes connections; of a server that is not there yet, the first.
http::Destination find_backend(const http::Url& url, const std::shared_ptr<http::TlsContext>& tls) {
  const http::Address first = http::resolve(url.host, url.port).front();
  try {
    return http::find_server(url, tls, milliseconds(500));
  } catch (const Error&) {
    return {first, url.tls ? tls : nullptr, url.host};
  }
}

Backends make_backends(const Options& options) {
  std::shared_ptr<http::TlsContext> tls;
  Backends backends;
  for (const std::string& text : options.backends) {
    balance::BackendUrl where = balance::parse_backend(text);
    if (where.url.tls && !tls) tls = http::TlsContext::client(!options.insecure, options.authorities);
    const http::Destination destination = find_backend(where.url, tls);
    backends.push_back(std::make_shared<balance::Backend>(std::move(where), destination, health_options(options)));
    for (std::size_t i = 0; i + 1 < backends.size(); ++i)
      check(backends[i]->name() != backends.back()->name(), "the backend {} is given twice; give it a weight instead",
            backends.back()->name());
  }
  return backends;
}

http::ServerOptions server_options(const Options& options) {
  http::ServerOptions server = options.listen.server_options();
  server.decode_bodies = false;  // what is compressed stays so
  server.max_body = [most = options.listen.most_body()](std::string_view, std::string_view) { return most; };
  return server;
}

// The balancer in one process: its own pages, and the way to the backends for all others.
class Balancer {
 public:
  explicit Balancer(const Options& options)
      : options_(options),
        proxy_(proxy_options(options), make_backends(options), options.listen.loops(),
               !options.listen.certificate.empty()),
        server_(server_options(options), [this](http::Request&& request, http::Responder responder) {
          handle(std::move(request), std::move(responder));
        }) {}

  int port() const { return server_.port(); }

  // Until SIGTERM or Ctrl-C. Returns whether all that was under way then came to its end.
  bool run(http::Termination& termination) {
    const balance::HealthChecks checks(proxy_.backends(), health_options(options_));
    server_.start();
    announce();
    termination.wait();
    draining_ = true;
    return options_.listen.drain(server_);
  }

 private:
  void announce() const {
    options_.listen.note_port(port());
    const std::string url = options_.listen.url(port());
    if (options_.json) {
      print("{}\n", nlohmann::ordered_json({{"url", url}, {"port", port()}, {"backends", options_.backends}}).dump());
    } else {
      print("{} in front of {}\n", url, joined(options_.backends));
    }
    std::fflush(stdout);
  }

  void handle(http::Request&& request, http::Responder responder) {
    if (request.path == "/metrics") {
      http::Response response;
      response.content_type = "text/plain; version=0.0.4";
      response.body.emplace_back(balance::metrics_text(proxy_, server_.counters()));
      return responder.send(std::move(response));
    }
    if (request.path == "/v2/health/live") return responder.send(http::json_response(200, R"({"live":true})"));
    if (request.path == "/v2/health/ready") return responder.send(readiness());
    proxy_.handle(std::move(request), std::move(responder));
  }

  http::Response readiness() const {
    if (draining_) return http::json_response(503, R"({"ready":false,"error":"draining"})");
    balance::Snapshot snapshot;
    take_snapshot(proxy_.backends(), balance::Clock::now(), snapshot);
    if (snapshot.up == 0) return http::json_response(503, R"({"ready":false,"error":"no backend is up"})");
    return http::json_response(200, R"({"ready":true})");
  }

  Options options_;
  std::atomic<bool> draining_{false};
  balance::Proxy proxy_;  // outlives the server, whose loops use it
  http::Server server_;
};

int run(const Options& options) {
  check(options.policy != "hash" || !options.hash_header.empty(), "--policy hash needs --hash-header");
  http::Termination termination;
  Balancer balancer(options);
  const bool all = balancer.run(termination);
  if (!all) fmt::print(stderr, "lockring balance: requests were still under way at the end\n");
  return all ? 0 : exit_code(ErrorCode::other);
}

void add_proxy_options(CLI::App& app, Options& options) {
  const auto names = balance::policy_names();
  app.add_option("--policy", options.policy, "which backend gets a request")
      ->check(one_of({names.begin(), names.end()}));
  app.add_option("--hash-header", options.hash_header, "of the policy hash: requests of one value go to one backend")
      ->type_name("NAME");
  app.add_option("--timeout-ms", options.timeout_ms, "of a request with its retry")->check(within(1, 3'600'000));
  app.add_option("--connect-timeout-ms", options.connect_timeout_ms, "of a connection to a backend")
      ->check(within(1, 600'000));
  app.add_option("--retry-share", options.retry_share, "of the requests, the most that may be tried twice")
      ->check(within(0, 1));
  app.add_flag("--insecure", options.insecure, "trust any certificate of an https backend");
  app.add_option("--ca", options.authorities, "trust the authorities of this PEM file")->type_name("FILE");
}

void add_health_options(CLI::App& app, Options& options) {
  app.add_option("--health-path", options.health_target, "what a backend is asked; 200 is good")->type_name("PATH");
  app.add_option("--health-interval-ms", options.health_interval_ms, "between checks")->check(within(10, 3'600'000));
  app.add_option("--health-timeout-ms", options.health_timeout_ms, "of a check")->check(within(1, 600'000));
  app.add_option("--fall", options.fall, "failed checks in a row that take a backend out")->check(above(0));
  app.add_option("--rise", options.rise, "good checks in a row that take it back")->check(above(0));
  app.add_option("--eject-after", options.eject_after, "failed requests in a row that eject a backend; 0: never")
      ->check(within(0, 1'000'000));
  app.add_option("--eject-ms", options.eject_ms, "for how long, times how often; a good check ends it")
      ->check(within(1, 3'600'000));
  app.add_option("--max-ejected", options.max_ejected, "share of the backends that may be ejected; one always may")
      ->check(within(0, 1));
  app.add_option("--slow-start-ms", options.slow_start_ms, "until a backend that came back has its whole share")
      ->check(within(0, 3'600'000));
}

}  // namespace

Action balance_backends(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("--backend", options->backends, "a server: http://host:port, or http://host:port*WEIGHT; repeat")
      ->required()
      ->type_name("URL");
  add_listen_options(app, options->listen);
  add_proxy_options(app, *options);
  add_health_options(app, *options);
  app.add_flag("--json", options->json, "print where it listens as one JSON object");
  app.footer(
      "Example:\n  lockring balance --port 8080 --backend http://10.0.0.1:8000 --backend 'http://10.0.0.2:8000*2'");
  return [options] { return run(*options); };
}

}  // namespace lockring::app
