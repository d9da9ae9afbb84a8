// lockring load: requests against a server, as fast as it answers or at a given rate, and how long they took.
#include "apps/ask/asked_server.h"
#include "apps/command.h"
#include "apps/load/load_run.h"
#include "apps/load/payload.h"
#include "apps/option_values.h"
#include "apps/stop_signal.h"
#include "apps/terminal.h"
#include "apps/text_table.h"
#include "core/files.h"
#include "core/text.h"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <memory>
#include <optional>

namespace lockring::app {
namespace {

using Json = nlohmann::ordered_json;

struct Options {
  std::string url;
  int connections = 8;
  int threads = 1;
  std::string duration = "10s";
  std::optional<std::int64_t> requests;
  std::optional<double> rate;
  std::string arrivals = "constant";
  std::string timeout = "10s";
  std::string model, body, image, content_type, method;
  bool binary = false;
  std::string datatype;
  std::int64_t batch = 1;
  std::vector<std::string> headers;
  bool insecure = false;
  std::string authorities;
  std::uint64_t seed = 1;
  bool json = false;
};

std::string percent_text(double part, double whole) { return fmt::format("{:.2f} %", 100 * part / whole); }

// "Name: value".
http::Header parse_header(const std::string& text) {
  const std::size_t colon = text.find(':');
  check(colon != std::string::npos && colon > 0 && is_printable(text), "--header: expected 'Name: value', found '{}'",
        printable(text));
  const std::size_t value = std::min(text.find_first_not_of(' ', colon + 1), text.size());
  return {text.substr(0, colon), text.substr(value)};
}

std::vector<http::Header> parse_headers(const Options& options) {
  std::vector<http::Header> headers;
  for (const std::string& text : options.headers) headers.push_back(parse_header(text));
  return headers;
}

std::string type_of_image(const std::string& path) {
  const bool is_png = path.ends_with(".png") || path.ends_with(".PNG");
  return is_png ? "image/png" : "image/jpeg";
}

// The first of those served.
std::string first_model(const AskedServer& server) {
  const Json json = Json::parse(server.get("/v2/models"), nullptr, false);
  const std::string who = server.url().authority();
  check(!json.is_discarded(), ErrorCode::device, "{} answers GET /v2/models with what is not JSON", who);
  const bool has_one =
      json.is_object() && json.contains("models") && json["models"].is_array() && !json["models"].empty();
  check(has_one, ErrorCode::device, "{} serves no models; give --model or a path", who);
  const Json& first = json["models"][0];
  const Json& name = first.is_object() && first.contains("name") ? first["name"] : first;
  check(name.is_string(), ErrorCode::device, "{} names its models in an unknown way; give --model", who);
  return name.get<std::string>();
}

bool wants_tensors(const Options& options, const http::Url& url) {
  return options.body.empty() && options.image.empty() && options.method.empty() &&
         (url.target == "/" || !options.model.empty());
}

Payload tensor_payload(const Options& options, const AskedServer& server) {
  PayloadOptions payload;
  const std::string model = options.model.empty() ? first_model(server) : options.model;
  payload.metadata = server.get("/v2/models/" + http::percent_encode(model));
  payload.datatype = options.datatype;
  payload.binary = options.binary;
  payload.batch = options.batch;
  payload.seed = options.seed;
  return inference_payload(payload);
}

// One body, or none, for the path of the URL or the model's.
Payload given_payload(const Options& options, const http::Url& url) {
  Payload payload;
  const std::string& file = options.image.empty() ? options.body : options.image;
  payload.target = url.target;
  if (!options.model.empty()) payload.target = "/v2/models/" + http::percent_encode(options.model) + "/infer";
  if (!options.image.empty()) {
    if (!options.model.empty()) payload.target = "/predict?model=" + http::percent_encode(options.model);
    if (payload.target == "/") payload.target = "/predict";
  }
  payload.method = !options.method.empty() ? options.method : file.empty() ? "GET" : "POST";
  payload.bodies.push_back(file.empty() ? "" : read_file(file));
  std::string type = options.content_type;
  if (type.empty() && !file.empty()) type = options.image.empty() ? "application/json" : type_of_image(options.image);
  if (!type.empty()) payload.headers.emplace_back("Content-Type", type);
  return payload;
}

Json latency_json(const LatencyHistogram& histogram) {
  const auto milliseconds = [](auto nanoseconds) { return static_cast<double>(nanoseconds) / 1e6; };
  return {{"count", histogram.count()},
          {"mean", milliseconds(histogram.mean())},
          {"p50", milliseconds(histogram.percentile(0.5))},
          {"p95", milliseconds(histogram.percentile(0.95))},
          {"p99", milliseconds(histogram.percentile(0.99))},
          {"p99.9", milliseconds(histogram.percentile(0.999))},
          {"max", milliseconds(histogram.max())}};
}

double per_second(std::int64_t count, double seconds) { return seconds > 0 ? static_cast<double>(count) / seconds : 0; }

void print_json(const Options& options, const Payload& payload, const LoadResult& result) {
  Json statuses = Json::object();
  for (const auto& [status, count] : result.statuses) statuses[std::to_string(status)] = count;
  const Json json = {{"url", options.url},
                     {"target", payload.target},
                     {"loop", options.rate ? "open" : "closed"},
                     {"rate", options.rate ? Json(*options.rate) : Json()},
                     {"connections", options.connections},
                     {"seconds", result.seconds},
                     {"responses", result.responses()},
                     {"requests_per_second", per_second(result.responses(), result.seconds)},
                     {"accepted_per_second", per_second(result.accepted.count(), result.seconds)},
                     {"body_bytes_per_second", per_second(result.bytes_in, result.seconds)},
                     {"latency_ms", latency_json(result.accepted)},
                     {"refused_latency_ms", latency_json(result.refused)},
                     {"statuses", statuses},
                     {"failures", result.failures()},
                     {"errors", result.errors},
                     {"unsent", result.unsent}};
  print("{}\n", json.dump(2));
}

std::vector<std::string> latency_row(const std::string& name, const LatencyHistogram& histogram) {
  std::vector<std::string> row = {name, with_thousands(histogram.count())};
  const auto add = [&](std::int64_t nanoseconds) {
    row.push_back(fmt::format("{:.3f}", static_cast<double>(nanoseconds) / 1e6));
  };
  for (const double share : {0.5, 0.95, 0.99, 0.999}) add(histogram.percentile(share));
  add(histogram.max());
  return row;
}

void print_report(const Options& options, const Payload& payload, const LoadResult& result) {
  const std::string loop = options.rate ? fmt::format("{} requests/s", *options.rate) : std::string("closed loop");
  print("{} {} of {}: {} connections, {}, {}\n\n", payload.method, printable(payload.target), printable(options.url),
        options.connections, loop, duration_text(result.seconds));
  print("  {:.0f} requests/s\n\n", per_second(result.responses(), result.seconds));
  std::vector<std::vector<std::string>> rows = {{"ms", "count", "p50", "p95", "p99", "p99.9", "max"}};
  rows.push_back(latency_row("accepted", result.accepted));
  if (result.refused.count() > 0) rows.push_back(latency_row("refused", result.refused));
  print("{}\n", text_table(rows, {Align::left, Align::right, Align::right, Align::right, Align::right, Align::right,
                                  Align::right}));
  for (const auto& [status, count] : result.statuses)
    print("  status {}: {} ({})\n", status, with_thousands(count),
          percent_text(static_cast<double>(count), static_cast<double>(result.responses())));
  for (const auto& [kind, count] : result.errors) print("  FAILED, {}: {}\n", kind, with_thousands(count));
  if (result.unsent > 0)
    print("  {} requests were due and found none of the connections free; more --connections would have sent them\n",
          with_thousands(result.unsent));
}

LoadOptions load_options(const Options& options, const AskedServer& server, const Payload& payload) {
  LoadOptions load;
  load.destination = server.destination();
  load.requests = request_texts(payload, server.url());
  load.is_head = payload.method == "HEAD";
  load.connections = options.connections;
  load.threads = std::min(options.threads, options.connections);
  load.rate = options.rate.value_or(0);
  load.poisson = options.arrivals == "poisson";
  load.count = options.requests.value_or(0);
  load.seconds = options.requests ? 0 : static_cast<double>(parse_seconds(options.duration, "--duration"));
  load.timeout_seconds = static_cast<double>(parse_seconds(options.timeout, "--timeout"));
  load.seed = options.seed;
  return load;
}

int run(const Options& options) {
  catch_stop_signals();
  const AskedServer server(options.url, parse_headers(options), options.insecure, options.authorities);
  Payload payload =
      wants_tensors(options, server.url()) ? tensor_payload(options, server) : given_payload(options, server.url());
  for (const http::Header& header : server.headers()) payload.headers.emplace_back(header.name, header.value);
  const LoadResult result = run_load(load_options(options, server, payload), [] { return stop_signal() != 0; });
  options.json ? print_json(options, payload, result) : print_report(options, payload, result);
  return result.responses() > 0 ? 0 : exit_code(ErrorCode::device);
}

void add_payload_options(CLI::App& app, Options& options) {
  app.add_option("--model", options.model, "of those served; the first unless given")->type_name("NAME");
  app.add_flag("--binary", options.binary, "send and receive tensors as bytes instead of JSON");
  app.add_option("--datatype", options.datatype, "of the tensors, as UINT8; the model's own unless given")
      ->type_name("TYPE");
  app.add_option("--batch", options.batch, "images a request")->check(above(0));
  auto* body = app.add_option("--body", options.body, "send this file to the URL's path")->type_name("FILE");
  app.add_option("--image", options.image, "send this PNG or JPEG file, to /predict unless the URL has a path")
      ->type_name("FILE")
      ->excludes(body);
  app.add_option("--content-type", options.content_type, "of the body that is given")->type_name("TYPE");
  app.add_option("--method", options.method, "instead of POST with a body and GET without")->type_name("WORD");
  app.add_option("--header", options.headers, "a field 'Name: value' of every request; may be repeated")
      ->type_name("FIELD");
}

void add_run_options(CLI::App& app, Options& options) {
  app.add_option("--connections", options.connections, "kept open; of a rate, the most requests under way")
      ->check(within(1, 60'000));
  app.add_option("--threads", options.threads, "that share the connections")->check(within(1, 256));
  auto* duration = app.add_option("--duration", options.duration, "how long: 90s, 30m")->type_name("TIME");
  app.add_option("--requests", options.requests, "end after so many")->check(above(0))->excludes(duration);
  app.add_option("--rate", options.rate, "requests/s, however fast the server is, timed from when each was due")
      ->check(above(0))
      ->check(within(0, 10'000'000));
  app.add_option("--arrivals", options.arrivals, "of a rate: evenly, or at random")
      ->check(one_of({"constant", "poisson"}));
  app.add_option("--timeout", options.timeout, "of one request")->type_name("TIME");
  app.add_flag("--insecure", options.insecure, "trust any certificate");
  app.add_option("--ca", options.authorities, "trust the authorities of this PEM file")->type_name("FILE");
  app.add_option("--seed", options.seed, "of the random input");
}

}  // namespace

Action load(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("url", options->url, "the server: http://host:port; with a path, that is asked for")
      ->required()
      ->configurable(false)
      ->type_name("URL");
  add_run_options(app, *options);
  add_payload_options(app, *options);
  app.add_flag("--json", options->json, "print one JSON object");
  app.footer("Example:\n  lockring load http://localhost:8000 --connections 64 --duration 30s");
  return [options] { return run(*options); };
}

}  // namespace lockring::app
