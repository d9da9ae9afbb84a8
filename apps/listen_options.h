// Where and how a command listens: the same options for all that serve.
#pragma once

#include "apps/http/server.h"

#include <cstdint>
#include <string>

namespace CLI {
class App;
}

namespace lockring::app {

struct ListenOptions {
  std::string host = "127.0.0.1";
  int port = 8000;
  std::string port_file{};
  int threads = 0;
  std::string certificate{};
  std::string key{};
  std::string max_body = "64M";
  int max_connections = 10'000;
  std::int64_t drain_ms = 30'000;
  std::int64_t drain_delay_ms = 0;

  // Event loops: as many as were asked for, or one for each core that may be used.
  int loops() const;
  // Throws Error{usage} on anything else than a size.
  std::size_t most_body() const;
  // All that the options say but for bodies.
  http::ServerOptions server_options() const;
  // Of a server that listens on `port`.
  std::string url(int port) const;
  // Writes the port to the file that was asked for, if one was.
  void note_port(int port) const;
  // Goes on as before for the delay, then takes no more requests and waits for those under way. Returns whether all
  // came to their end.
  bool drain(http::Server& server) const;
};

void add_listen_options(CLI::App& app, ListenOptions& options);

}  // namespace lockring::app
