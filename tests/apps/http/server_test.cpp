#include "apps/http/server.h"

#include "tests/apps/http/raw_client.h"

#include <gtest/gtest.h>

#include <future>
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
  ASSERT_EQ(told.get_future().wait_for(seconds(20)), std::future_status::ready);
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

}  // namespace
}  // namespace lockring::app::http
