#include "apps/listen_options.h"

#include "apps/option_values.h"
#include "core/cpu.h"
#include "core/files.h"

#include <fmt/core.h>
#include <CLI/CLI.hpp>

#include <chrono>
#include <thread>

namespace lockring::app {

using std::chrono::milliseconds;

int ListenOptions::loops() const { return threads > 0 ? threads : usable_cores(); }

std::size_t ListenOptions::most_body() const { return static_cast<std::size_t>(parse_bytes(max_body, "--max-body")); }

http::ServerOptions ListenOptions::server_options() const {
  http::ServerOptions server;
  server.address = host;
  server.port = port;
  server.threads = loops();
  server.certificate = certificate;
  server.key = key;
  server.max_connections = max_connections;
  return server;
}

std::string ListenOptions::url(int of) const {
  const std::string seen = host == "0.0.0.0" || host == "::" ? "localhost" : host;
  return fmt::format("{}://{}:{}", certificate.empty() ? "http" : "https",
                     seen.find(':') == std::string::npos ? seen : "[" + seen + "]", of);
}

void ListenOptions::note_port(int of) const {
  if (!port_file.empty()) write_file(port_file, std::to_string(of) + "\n");
}

bool ListenOptions::drain(http::Server& server) const {
  std::this_thread::sleep_for(milliseconds(drain_delay_ms));
  const bool all = server.drain(std::chrono::steady_clock::now() + milliseconds(drain_ms));
  server.stop();
  return all;
}

void add_listen_options(CLI::App& app, ListenOptions& options) {
  constexpr double kHour = 3.6e6;
  app.add_option("--host", options.host, "address to listen on; 0.0.0.0 or :: for every interface")
      ->type_name("ADDRESS");
  app.add_option("--port", options.port, "port to listen on; 0 for any that is free")->check(within(0, 65'535));
  app.add_option("--port-file", options.port_file, "file to write the port to when it answers")->type_name("FILE");
  app.add_option("--threads", options.threads, "event loops; 0 for one a core")->check(within(0, 1024));
  app.add_option("--tls-cert", options.certificate, "PEM file of the certificate and its chain")->type_name("FILE");
  app.add_option("--tls-key", options.key, "PEM file of its key")->type_name("FILE");
  app.add_option("--max-body", options.max_body, "largest body, such as 64M")->type_name("SIZE");
  app.add_option("--max-connections", options.max_connections, "connections at once")->check(within(1, 1e6));
  app.add_option("--drain-ms", options.drain_ms, "how long requests may take to end after SIGTERM")
      ->check(within(0, kHour));
  app.add_option("--drain-delay-ms", options.drain_delay_ms,
                 "how long to go on as before, but not ready, after SIGTERM")
      ->check(within(0, kHour));
}

}  // namespace lockring::app
