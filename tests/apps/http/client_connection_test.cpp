#include "apps/http/client_connection.h"

#include "apps/http/fetch.h"
#include "apps/http/server.h"
#include "tests/apps/http/one_answer.h"
#include "tests/support/errors.h"

#include <gtest/gtest.h>

#include <optional>

namespace lockring::app::http {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

Destination destination_of(int port) {
  return find_server(parse_url(fmt::format("127.0.0.1:{}", port)), {}, seconds(60));
}

struct Ended {
  Outcome outcome = Outcome::late;
  unsigned status = 0;
  std::string body;
};

constexpr std::string_view kGet = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";

Ended exchange(ClientLoop& loop, ClientConnection& connection, std::string_view request = kGet,
               milliseconds patience = seconds(60)) {
  Ended ended;
  connection.exchange({&request, 1}, false, ClientLoop::Clock::now() + patience,
                      [&](Outcome outcome, Received& received) {
                        ended = {outcome, received.status, std::string(received.body.text())};
                        loop.stop();
                      });
  loop.restart();
  loop.run();
  return ended;
}

// What comes of a server that answers any request with these bytes and closes.
Ended ask_for(const std::string& answer) {
  const OneAnswer server(answer);
  ClientLoop loop;
  const auto connection = ClientConnection::open(loop, destination_of(server.port()));
  const Ended ended = exchange(loop, *connection);
  EXPECT_TRUE(ended.outcome == Outcome::answered || connection->is_closed());
  return ended;
}

TEST(ClientConnection, AsksAgainAndAgain) {
  Server server({.threads = 1}, [](Request&& request, Responder responder) {
    responder.send(json_response(200, std::string(request.body.text())));
  });
  server.start();
  ClientLoop loop;
  const auto connection = ClientConnection::open(loop, destination_of(server.port()));
  for (const std::size_t size : {0, 5, 70'000, 2'000'000}) {
    const std::string body(size, 'x');
    const Ended ended = exchange(loop, *connection,
                                 fmt::format("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\n\r\n{}", size, body));
    EXPECT_EQ(ended.outcome, Outcome::answered);
    EXPECT_EQ(ended.body, body);
    EXPECT_TRUE(connection->is_idle());
  }
  EXPECT_EQ(server.counters().accepted, 2);  // one of them to see whether the server is there
}

TEST(ClientConnection, ReadsWhatHttpAllows) {
  EXPECT_EQ(ask_for("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab").body, "ab");
  EXPECT_EQ(ask_for("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n1\r\nb\r\n0\r\n\r\n").body, "ab");
  EXPECT_EQ(ask_for("HTTP/1.0 200 OK\r\n\r\nto the end").body, "to the end");
  EXPECT_EQ(ask_for("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\nA: b\r\n\r\nHTTP/1.1 201 OK\r\nContent-Length: "
                    "0\r\n\r\n")
                .status,
            201u);
  EXPECT_EQ(ask_for("HTTP/1.1 204 No Content\r\n\r\n").status, 204u);
}

TEST(ClientConnection, KnowsHowItFailed) {
  EXPECT_EQ(ask_for("").outcome, Outcome::closed);
  EXPECT_EQ(ask_for("HTTP/1.1 200").outcome, Outcome::broken);
  EXPECT_EQ(ask_for("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nab").outcome, Outcome::broken);
  EXPECT_EQ(ask_for("SSH-2.0-something\r\n\r\n").outcome, Outcome::broken);
  EXPECT_EQ(ask_for("HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n").outcome, Outcome::broken);
  EXPECT_EQ(ask_for("HTTP/1.1 200 OK\r\nA: " + std::string(1'000'000, 'x')).outcome, Outcome::broken);
}

TEST(ClientConnection, WaitsNoLongerThanTold) {
  std::optional<Responder> kept;
  Server server({}, [&](Request&&, Responder responder) { kept = std::move(responder); });
  server.start();
  ClientLoop loop;
  const auto connection = ClientConnection::open(loop, destination_of(server.port()));
  EXPECT_EQ(exchange(loop, *connection, kGet, milliseconds(100)).outcome, Outcome::late);
  EXPECT_TRUE(connection->is_closed());
  EXPECT_EQ(exchange(loop, *connection).outcome, Outcome::not_connected);
  server.stop();
}

TEST(ClientConnection, SeesTheServerGoWhileIdle) {
  auto server = std::make_unique<Server>(
      ServerOptions(), [](Request&&, Responder responder) { responder.send(json_response(200, "{}")); });
  server->start();
  const Destination destination = destination_of(server->port());
  ClientLoop loop;
  const auto connection = ClientConnection::open(loop, destination);
  EXPECT_EQ(exchange(loop, *connection).status, 200u);
  server.reset();
  loop.restart();
  loop.run();  // there is nothing left to wait for
  EXPECT_TRUE(connection->is_closed());
  const auto second = ClientConnection::open(loop, destination);
  EXPECT_EQ(exchange(loop, *second).outcome, Outcome::not_connected);
}

TEST(FindServer, SaysWhatIsWrong) {
  constexpr int kNobodys = 1;
  expect_error(ErrorCode::device, "refused", [] { destination_of(kNobodys); });
  expect_error(ErrorCode::device, "nowhere.invalid", [] { find_server(parse_url("nowhere.invalid"), {}, seconds(1)); });
}

TEST(Fetch, Fetches) {
  Server server({}, [](Request&& request, Responder responder) {
    responder.send(json_response(200, request.path + std::string(request.header("x-key"))));
  });
  server.start();
  const Url url = parse_url(fmt::format("127.0.0.1:{}", server.port()));
  const Destination destination = find_server(url, {}, seconds(60));
  EXPECT_EQ(fetch(destination, url, "/a", {{"X-Key", "7"}}, seconds(60)).body.text(), "/a7");
  const OneAnswer mute("");
  const Url other = parse_url(fmt::format("127.0.0.1:{}", mute.port()));
  expect_error(ErrorCode::device, "does not answer GET /b",
               [&] { fetch(find_server(other, {}, seconds(60)), other, "/b", {}, seconds(60)); });
}

}  // namespace
}  // namespace lockring::app::http
