#include "apps/load/load_run.h"

#include "apps/http/fetch.h"
#include "apps/http/server.h"
#include "tests/support/errors.h"

#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <thread>

namespace lockring::app {
namespace {

using std::chrono::milliseconds;

// A server whose handler counts, and options of a load against it.
class LoadRun : public testing::Test {
 protected:
  LoadRun() {
    http::ServerOptions options;
    options.threads = 1;
    server_ = std::make_unique<http::Server>(options, [this](http::Request&& request, http::Responder responder) {
      handle(std::move(request), std::move(responder));
    });
    server_->start();
    options_.destination = http::find_server(http::parse_url(fmt::format("http://127.0.0.1:{}", server_->port())), {},
                                             milliseconds(60'000));
    ask("/");
  }

  void ask(const std::string& path) { options_.requests = {fmt::format("GET {} HTTP/1.1\r\nHost: x\r\n\r\n", path)}; }
  LoadResult run() const {
    return run_load(options_, [] { return false; });
  }

  void handle(http::Request&& request, http::Responder responder) {
    const int number = ++requests_;
    if (request.path == "/never") {
      const std::lock_guard lock(mutex_);
      return kept_.push_back(std::move(responder));
    }
    if (request.path == "/slow") std::this_thread::sleep_for(milliseconds(20));
    const bool refuse = request.path == "/half" && number % 2 == 0;
    responder.send(http::json_response(refuse ? 503 : 200, "{}"));
  }

  std::atomic<int> requests_{0};
  LoadOptions options_;
  std::mutex mutex_;
  std::vector<http::Responder> kept_;
  std::unique_ptr<http::Server> server_;
};

TEST_F(LoadRun, SendsAsManyAsItIsTold) {
  for (const int connections : {1, 3, 7}) {
    requests_ = 0;
    options_.connections = connections;
    options_.threads = std::min(connections, 2);
    options_.count = 101;
    const LoadResult result = run();
    EXPECT_EQ(requests_, 101);
    EXPECT_EQ(result.accepted.count(), 101);
    EXPECT_EQ(result.statuses.at(200), 101);
    EXPECT_EQ(result.failures(), 0);
    EXPECT_EQ(result.bytes_in, 202);
    EXPECT_GT(result.seconds, 0);
  }
}

TEST_F(LoadRun, SendsWithoutConnectionsToSpare) {
  options_.connections = 5;
  options_.count = 3;
  EXPECT_EQ(run().accepted.count(), 3);
}

TEST_F(LoadRun, EndsInTime) {
  options_.connections = 2;
  options_.seconds = 0.2;
  const LoadResult result = run();
  EXPECT_GT(result.accepted.count(), 0);
  EXPECT_GE(result.seconds, 0.2);
}

TEST_F(LoadRun, EndsWhenTold) {
  const LoadResult result = run_load(options_, [this] { return requests_ > 10; });
  EXPECT_GT(result.accepted.count(), 10);
}

TEST_F(LoadRun, TellsRefusalsApart) {
  ask("/half");
  options_.count = 100;
  const LoadResult result = run();
  EXPECT_EQ(result.accepted.count(), 50);
  EXPECT_EQ(result.refused.count(), 50);
  EXPECT_EQ(result.statuses.at(503), 50);
}

TEST_F(LoadRun, KeepsToARate) {
  for (const bool poisson : {false, true}) {
    options_.poisson = poisson;
    options_.connections = 16;
    options_.rate = 2000;
    options_.count = 400;
    const LoadResult result = run();
    EXPECT_EQ(result.accepted.count(), 400);
    EXPECT_GE(result.seconds, poisson ? 0.1 : 0.199);
  }
}

// One connection, 20 ms a request, a request due every millisecond: the last waits for all before it.
TEST_F(LoadRun, MeasuresFromWhenARequestWasDue) {
  ask("/slow");
  options_.rate = 1000;
  options_.count = 20;
  const LoadResult result = run();
  EXPECT_EQ(result.accepted.count(), 20);
  EXPECT_GE(result.accepted.max(), std::int64_t{350} * 1'000'000);
  EXPECT_GE(result.accepted.percentile(0.5), std::int64_t{150} * 1'000'000);
}

TEST_F(LoadRun, CountsWhatCouldNotBeSent) {
  ask("/slow");
  options_.rate = 1000;
  options_.seconds = 0.2;
  const LoadResult result = run();
  EXPECT_GE(result.unsent, 180);
  EXPECT_NEAR(static_cast<double>(result.unsent + result.accepted.count()), 200, 2);
}

TEST_F(LoadRun, CountsRequestsThatTakeTooLong) {
  ask("/never");
  options_.connections = 3;
  options_.count = 3;
  options_.timeout_seconds = 1;
  const LoadResult result = run();
  EXPECT_EQ(result.errors.at("timeout"), 3);
  EXPECT_EQ(result.responses(), 0);
}

TEST_F(LoadRun, GoesOnOnNewConnections) {
  options_.requests = {"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"};
  options_.connections = 2;
  options_.count = 20;
  EXPECT_EQ(run().accepted.count(), 20);
  EXPECT_GE(server_->counters().accepted, 20);
}

TEST_F(LoadRun, NeedsAServer) {
  server_.reset();
  expect_error(ErrorCode::device, "no connection", [&] { run(); });
}

}  // namespace
}  // namespace lockring::app
