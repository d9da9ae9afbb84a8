// A server for tests of the HTTP layer from outside: prints its port, serves until SIGTERM, drains, and exits 0 if all
// connections ended in time.
//   sample_server [--threads N] [--header-ms N] [--body-ms N] [--write-ms N] [--idle-ms N] [--max-connections N]
//                 [--max-body N] [--tls CERTIFICATE KEY]
#include "apps/http/server.h"
#include "apps/http/termination.h"

#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace lockring::app::http {
namespace {

using std::chrono::milliseconds;

// /constant is what benchmarks ask for, /later answers from another thread, /never keeps its responders, /large sends
// as many bytes as the query says; all else is told back.
class Sample {
 public:
  ~Sample() {
    for (std::thread& thread : threads_) thread.join();
  }

  void handle(Request&& request, Responder responder) {
    if (request.path == "/constant") return responder.send(json_response(200, R"({"live":true})"));
    if (request.path == "/later") return later(std::move(request), std::move(responder));
    if (request.path == "/large") {
      const std::size_t size = std::stoul(request.query("bytes").value_or("1000000"));
      return responder.send(json_response(200, std::string(size, 'x')));
    }
    Response response;
    response.content_type = "text/plain";
    response.body.emplace_back(fmt::format("{} {} {} ", request.method, request.path, request.body.size()));
    if (request.body.size() <= 1000) response.body.emplace_back(std::string(request.body.text()));
    responder.send(std::move(response));
  }

 private:
  void later(Request&& request, Responder responder) {
    const milliseconds time(std::stoi(request.query("ms").value_or("100")));
    const std::lock_guard lock(mutex_);
    threads_.emplace_back([time, responder] {
      std::this_thread::sleep_for(time);
      responder.send(json_response(200, R"({"later":true})"));
    });
  }

  std::mutex mutex_;
  std::vector<std::thread> threads_;
};

ServerOptions parse(int count, char** words) {
  ServerOptions options;
  options.threads = 1;
  std::size_t max_body = 1 << 20;
  for (int i = 1; i + 1 < count; i += 2) {
    const std::string name = words[i];
    const int value = std::atoi(words[i + 1]);
    if (name == "--threads") options.threads = value;
    if (name == "--header-ms") options.header_timeout = milliseconds(value);
    if (name == "--body-ms") options.body_timeout = milliseconds(value);
    if (name == "--write-ms") options.write_timeout = milliseconds(value);
    if (name == "--idle-ms") options.idle_timeout = milliseconds(value);
    if (name == "--max-connections") options.max_connections = value;
    if (name == "--max-body") max_body = static_cast<std::size_t>(value);
    if (name == "--tls") {
      options.certificate = words[i + 1];
      options.key = words[++i + 1];
    }
  }
  options.max_body = [max_body](std::string_view, std::string_view) { return max_body; };
  return options;
}

int serve(const ServerOptions& options) {
  Termination termination;
  Sample sample;
  Server server(options, [&](Request&& request, Responder responder) {
    sample.handle(std::move(request), std::move(responder));
  });
  server.start();
  std::printf("%d\n", server.port());
  std::fflush(stdout);
  termination.wait();
  return server.drain(std::chrono::steady_clock::now() + std::chrono::seconds(20)) ? 0 : 1;
}

}  // namespace
}  // namespace lockring::app::http

int main(int count, char** words) { return lockring::app::http::serve(lockring::app::http::parse(count, words)); }
