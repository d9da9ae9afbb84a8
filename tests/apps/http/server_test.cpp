#include "apps/http/server.h"

#include "tests/apps/http/raw_client.h"
#include "tests/support/errors.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <mutex>
#include <thread>

namespace lockring::app::http {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

// Says what it got: "POST /path 5 hello".
void echo(Request&& request, Responder responder) {
  Response response;
  response.content_type = "text/plain";
  response.body.emplace_back(fmt::format("{} {} {} ", request.method, request.path, request.body.size()));
  response.body.emplace_back(std::string(request.body.text()));
  responder.send(std::move(response));
}

ServerOptions two_loops() {
  ServerOptions options;
  options.threads = 2;
  return options;
}

class RunningServer : public Server {
 public:
  explicit RunningServer(Handler handler = echo, ServerOptions options = two_loops())
      : Server(std::move(options), std::move(handler)) {
    start();
  }
};

TEST(Server, Answers) {
  RunningServer server;
  RawClient client(server.port());
  const std::string response = client.ask(get("/a%20b?x=1"));
  EXPECT_TRUE(response.starts_with("HTTP/1.1 200 OK\r\nDate: ")) << response;
  EXPECT_EQ(body_of(response), "GET /a b 0 ");
  EXPECT_EQ(body_of(client.ask(post("/p", "hello"))), "POST /p 5 hello");
}

TEST(Server, AnswersRequestsSentAheadInOrder) {
  RunningServer server;
  RawClient client(server.port());
  std::string all;
  for (int i = 0; i < 2000; ++i) all += post(fmt::format("/{}", i), std::string(i % 7, 'x'));
  const std::jthread sender([&] { client.send(all); });
  for (int i = 0; i < 2000; ++i)
    ASSERT_EQ(body_of(client.response()), fmt::format("POST /{} {} {}", i, i % 7, std::string(i % 7, 'x')));
}

TEST(Server, AnswersFromAnotherThread) {
  std::promise<Responder> kept;
  RunningServer server([&](Request&&, Responder responder) { kept.set_value(std::move(responder)); });
  RawClient client(server.port());
  client.send(get("/"));
  const Responder responder = kept.get_future().get();
  EXPECT_FALSE(responder.gone());
  responder.send(json_response(200, "{}"));
  responder.send(json_response(404, "again"));
  EXPECT_EQ(body_of(client.response()), "{}");
}

TEST(Server, AnswersForAHandlerThatDoesNot) {
  RunningServer server([](Request&& request, Responder) {
    if (request.path == "/throw") fail(ErrorCode::data, "bad \"thing\"");
    if (request.path == "/own") throw StatusError(404, "none", {{"x-why", "gone\r\nx: y"}});
  });
  RawClient client(server.port());
  EXPECT_EQ(status_of(client.ask(get("/"))), 500);
  const std::string bad = client.ask(get("/throw"));
  EXPECT_EQ(status_of(bad), 400);
  EXPECT_EQ(body_of(bad), R"({"error":"bad \"thing\""})");
  const std::string own = client.ask(get("/own"));
  EXPECT_EQ(status_of(own), 404);
  EXPECT_NE(own.find("\r\nx-why: gone  x: y\r\n"), std::string::npos) << own;
}

TEST(Server, TellsThatTheClientHasGone) {
  std::promise<Responder> kept;
  RunningServer server([&](Request&&, Responder responder) { kept.set_value(std::move(responder)); });
  auto client = std::make_unique<RawClient>(server.port());
  client->send(get("/"));
  const Responder responder = kept.get_future().get();
  std::promise<void> told;
  responder.on_gone([&] { told.set_value(); });
  client.reset();
  ASSERT_EQ(told.get_future().wait_for(seconds(60)), std::future_status::ready);
  EXPECT_TRUE(responder.gone());
  bool at_once = false;
  responder.on_gone([&] { at_once = true; });
  EXPECT_TRUE(at_once);
  responder.send(json_response(200, "{}"));
}

TEST(Server, ResponderMayOutliveIt) {
  std::promise<Responder> kept;
  auto server = std::make_unique<RunningServer>([&](Request&&, Responder r) { kept.set_value(std::move(r)); });
  RawClient client(server->port());
  client.send(get("/"));
  const Responder responder = kept.get_future().get();
  server.reset();
  EXPECT_TRUE(responder.gone());
  responder.send(json_response(200, "{}"));
  EXPECT_EQ(client.rest(), "");
}

TEST(Server, SaysWhyItCannotListen) {
  RunningServer server;
  ServerOptions options = two_loops();
  options.port = server.port();
  expect_error(ErrorCode::usage, "Address already in use", [&] { Server second(options, echo); });
  options.address = "192.0.2.1";  // RFC 5737: nobody has it
  expect_error(ErrorCode::usage, "192.0.2.1", [&] { Server elsewhere(options, echo); });
}

TEST(Server, SaysWhyItCannotSpeakTls) {
  ServerOptions options = two_loops();
  options.certificate = "/nowhere/cert.pem";
  expect_error(ErrorCode::usage, "both a certificate and a key", [&] { Server server(options, echo); });
  options.key = "/nowhere/key.pem";
  expect_error(ErrorCode::data, "/nowhere/cert.pem", [&] { Server server(options, echo); });
}

TEST(Server, AsksBeforeItReadsABody) {
  ServerOptions options = two_loops();
  options.admit = [](const Request& head) -> std::optional<Response> {
    if (head.header("x-key") == "right") return std::nullopt;
    return error_response(401, "which key?");
  };
  options.max_body = [](std::string_view method, std::string_view path) {
    return static_cast<std::size_t>(method == "POST" && path == "/large" ? 100 : 3);
  };
  RunningServer server(echo, options);
  RawClient client(server.port());
  EXPECT_EQ(status_of(client.ask(get("/"))), 401);
  EXPECT_EQ(status_of(client.ask(get("/"))), 401);  // without a body the connection goes on
  client.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 50\r\n\r\n");
  EXPECT_EQ(status_of(client.rest()), 401);
  const auto ask = [&](std::string_view path) {
    RawClient other(server.port());
    return status_of(
        other.ask(fmt::format("POST {} HTTP/1.1\r\nHost: x\r\nx-key: right\r\nContent-Length: 4\r\n\r\nabcd", path)));
  };
  EXPECT_EQ(ask("/large"), 200);
  EXPECT_EQ(ask("/small"), 413);
}

// What is refused is never handed over, whatever the client sends behind it and in whichever pieces.
TEST(Server, ARefusalIsNotUndoneByWhatFollows) {
  std::atomic<int> handled{0};
  ServerOptions options = two_loops();
  options.admit = [](const Request& head) -> std::optional<Response> {
    if (head.header("x-key") == "right") return std::nullopt;
    return error_response(401, "which key?");
  };
  RunningServer server(
      [&](Request&& request, Responder responder) {
        handled += request.header("x-key") == "right" ? 1 : 1000;
        responder.send(json_response(200, "{}"));
      },
      options);
  RawClient client(server.port());
  const std::string good = "GET /good HTTP/1.1\r\nHost: x\r\nx-key: right\r\n\r\n";
  std::string refused;
  for (int i = 0; i < 500; ++i) refused += get("/");
  client.send(refused + good.substr(0, 20));
  for (int i = 0; i < 500; ++i) ASSERT_EQ(status_of(client.response()), 401);
  client.send(good.substr(20));
  EXPECT_EQ(status_of(client.response()), 200);
  EXPECT_EQ(handled, 1);
}

TEST(Server, TellsWhatItHasDone) {
  std::mutex mutex;
  std::vector<Completed> log;
  ServerOptions options = two_loops();
  options.on_complete = [&](const Completed& completed) {
    const std::lock_guard lock(mutex);
    log.push_back(completed);
  };
  RunningServer server(echo, options);
  {
    RawClient client(server.port());
    client.ask(post("/a?b", "hello"));
    client.ask("GET / HTTP/9.9\r\n\r\n");
  }
  EXPECT_TRUE(server.drain(steady_clock::now() + seconds(60)));
  const Counters counters = server.counters();
  EXPECT_EQ(counters.accepted, 1);
  EXPECT_EQ(counters.open, 0);
  EXPECT_EQ(counters.requests, 1);
  EXPECT_EQ(counters.bad, 1);
  EXPECT_EQ(counters.in_flight, 0);
  EXPECT_GT(counters.bytes_in, 5);
  EXPECT_GT(counters.bytes_out, 5);
  ASSERT_EQ(log.size(), 2u);
  EXPECT_EQ(log[0].method, "POST");
  EXPECT_EQ(log[0].target, "/a?b");
  EXPECT_EQ(log[0].peer, "127.0.0.1");
  EXPECT_EQ(log[0].status, 200u);
  EXPECT_EQ(log[1].status, 505u);
  EXPECT_EQ(log[1].method, "");
  EXPECT_EQ(log[1].peer, "127.0.0.1");
}

TEST(Server, TellsTheHandlerHowBusyItsLoopIs) {
  std::mutex mutex;
  std::vector<Responder> kept;
  std::vector<LoopStatus> seen;
  std::promise<void> all;
  ServerOptions options = two_loops();
  options.threads = 1;
  RunningServer server(
      [&](Request&&, Responder responder) {
        const std::lock_guard lock(mutex);
        kept.push_back(std::move(responder));
        seen.push_back(*current_loop());
        if (kept.size() == 3) all.set_value();
      },
      options);
  EXPECT_EQ(current_loop(), nullptr);
  RawClient clients[3] = {RawClient(server.port()), RawClient(server.port()), RawClient(server.port())};
  for (RawClient& client : clients) client.send(get("/"));
  ASSERT_EQ(all.get_future().wait_for(seconds(60)), std::future_status::ready);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(seen[i].index, 0);
    EXPECT_EQ(seen[i].in_flight, i + 1);
    EXPECT_LE(seen[i].ready, 2 - i);
  }
  for (const Responder& responder : kept) responder.send(json_response(200, "{}"));
  for (RawClient& client : clients) EXPECT_EQ(status_of(client.response()), 200);
}

TEST(Server, DrainWaitsNoLongerThanTold) {
  std::promise<Responder> kept;
  RunningServer server([&](Request&&, Responder responder) { kept.set_value(std::move(responder)); });
  RawClient client(server.port());
  client.send(get("/"));
  const Responder responder = kept.get_future().get();
  EXPECT_FALSE(server.drain(steady_clock::now() + milliseconds(50)));
  responder.send(json_response(200, "{}"));
  EXPECT_NE(client.rest().find("Connection: close"), std::string::npos);
  EXPECT_TRUE(server.drain(steady_clock::now() + seconds(60)));
}

}  // namespace
}  // namespace lockring::app::http
