#include "apps/balance/proxy.h"

#include "apps/balance/health_checks.h"
#include "apps/http/fetch.h"
#include "tests/apps/http/one_answer.h"
#include "tests/apps/http/raw_client.h"

#include <gtest/gtest.h>

#include <future>
#include <set>
#include <thread>

namespace lockring::app::balance {
namespace {

using http::body_of;
using http::get;
using http::post;
using http::RawClient;
using http::status_of;
using std::chrono::milliseconds;
using std::chrono::seconds;

// A server that says its name; "/busy" is 503, "/broken" 500, "/never" waits for good.
class Named {
 public:
  explicit Named(std::string name) : name_(std::move(name)) {
    http::ServerOptions options;
    options.threads = 1;
    server_ = std::make_unique<http::Server>(options, [this](http::Request&& request, http::Responder responder) {
      handle(std::move(request), std::move(responder));
    });
    server_->start();
  }

  std::string url() const { return fmt::format("http://127.0.0.1:{}", server_->port()); }
  void set_ready(bool ready) { ready_ = ready; }
  void stop() { server_.reset(); }
  std::future<http::Responder> kept() { return kept_.get_future(); }

 private:
  void handle(http::Request&& request, http::Responder responder) {
    if (request.path == "/v2/health/ready") return responder.send(http::json_response(ready_ ? 200 : 503, "{}"));
    if (request.path == "/never") return kept_.set_value(std::move(responder));
    const unsigned status = request.path == "/busy" || (request.path == "/busy-a" && name_ == "a") ? 503
                            : request.path == "/broken"                                            ? 500
                                                                                                   : 200;
    const std::string body(request.body.text());
    responder.send(http::json_response(status, name_ + " " + std::string(request.target) + " " + body));
  }

  std::string name_;
  std::atomic<bool> ready_{true};
  std::promise<http::Responder> kept_;
  std::unique_ptr<http::Server> server_;
};

// A balancer in front of backends, without checks of their health unless asked for.
class Balanced {
 public:
  Balanced(ProxyOptions options, const std::vector<std::string>& urls, int threads = 1)
      : proxy_(options, make(urls, options.health), threads, false),
        server_(server_options(threads),
                [this](auto&& request, auto responder) { proxy_.handle(std::move(request), std::move(responder)); }) {
    server_.start();
  }

  int port() const { return server_.port(); }
  const Proxy& proxy() const { return proxy_; }
  Backend& backend(std::size_t i) const { return *proxy_.backends()[i]; }

 private:
  static Backends make(const std::vector<std::string>& urls, const HealthOptions& health) {
    Backends backends;
    for (const std::string& url : urls) {
      BackendUrl where = parse_backend(url);
      http::Destination destination{http::resolve(where.url.host, where.url.port).front(), nullptr, where.url.host};
      backends.push_back(std::make_shared<Backend>(std::move(where), std::move(destination), health));
    }
    return backends;
  }
  static http::ServerOptions server_options(int threads) {
    http::ServerOptions options;
    options.threads = threads;
    options.decode_bodies = false;
    return options;
  }

  Proxy proxy_;
  http::Server server_;
};

void wait_for(const std::function<bool()>& condition) {
  const auto end = Clock::now() + seconds(60);
  while (!condition()) {
    ASSERT_LT(Clock::now(), end) << "waited in vain";
    std::this_thread::sleep_for(milliseconds(5));
  }
}

ProxyOptions in_turn() {
  ProxyOptions options;
  options.policy = "round-robin";
  return options;
}

std::string url_of(int port) { return fmt::format("http://127.0.0.1:{}", port); }

TEST(Proxy, ForwardsBothWays) {
  Named a("a");
  const Balanced balanced(in_turn(), {a.url()}, 2);
  RawClient client(balanced.port());
  for (const std::size_t size : {0, 5, 300'000}) {
    const std::string body(size, 'x');
    EXPECT_EQ(body_of(client.ask(post("/p%20q?r", body))), "a /p%20q?r " + body);
  }
  EXPECT_EQ(balanced.backend(0).counts.requests, 3);
  EXPECT_EQ(balanced.backend(0).counts.statuses[2], 3);
  EXPECT_EQ(balanced.backend(0).counts.in_flight, 0);
}

TEST(Proxy, GoesInTurnByWeight) {
  Named a("a"), b("b");
  const Balanced balanced(in_turn(), {a.url(), b.url() + "*3"});
  RawClient client(balanced.port());
  for (int i = 0; i < 40; ++i) client.ask(get("/"));
  EXPECT_EQ(balanced.backend(0).counts.requests, 10);
  EXPECT_EQ(balanced.backend(1).counts.requests, 30);
}

TEST(Proxy, KeepsAKeyAtOneBackend) {
  Named a("a"), b("b"), c("c");
  ProxyOptions options;
  options.policy = "hash";
  options.hash_header = "x-user";
  const Balanced balanced(options, {a.url(), b.url(), c.url()});
  RawClient client(balanced.port());
  std::set<std::string> used;
  for (int user = 0; user < 30; ++user) {
    const std::string request = fmt::format("GET / HTTP/1.1\r\nHost: x\r\nX-User: {}\r\n\r\n", user);
    const std::string first = body_of(client.ask(request));
    for (int i = 0; i < 3; ++i) EXPECT_EQ(body_of(client.ask(request)), first);
    used.insert(first);
  }
  EXPECT_EQ(used.size(), 3u);
}

TEST(Proxy, TriesAnotherWhenOneIsGone) {
  Named a("a"), b("b");
  const Balanced balanced(in_turn(), {a.url(), b.url()});
  RawClient client(balanced.port());
  for (int i = 0; i < 4; ++i) EXPECT_EQ(status_of(client.ask(get("/"))), 200);  // both have kept connections
  a.stop();
  for (int i = 0; i < 40; ++i) EXPECT_EQ(body_of(client.ask(post("/", "x"))), "b / x");
  EXPECT_EQ(balanced.backend(0).counts.failures, 1);  // then it is passed over
  EXPECT_EQ(balanced.proxy().counts().retries, 1);
  EXPECT_EQ(balanced.proxy().counts().unanswered, 0);
}

TEST(Proxy, DoesNotPanicIntoTheDead) {
  Named a("a"), b("b"), c("c");
  ProxyOptions options = in_turn();
  options.health.interval = milliseconds(10);
  const Balanced balanced(options, {a.url(), b.url(), c.url()});
  const HealthChecks checks(balanced.proxy().backends(), options.health);
  RawClient client(balanced.port());
  a.stop();
  for (int i = 0; i < 20; ++i) EXPECT_EQ(status_of(client.ask(post("/", "x"))), 200);
  wait_for([&] { return !balanced.backend(0).is_up(Clock::now()); });
  b.stop();
  for (int i = 0; i < 20; ++i) EXPECT_EQ(body_of(client.ask(post("/", "x"))), "c / x");
  wait_for([&] { return !balanced.backend(1).is_up(Clock::now()); });
  for (int i = 0; i < 20; ++i) EXPECT_EQ(body_of(client.ask(post("/", "x"))), "c / x");
}

TEST(Proxy, TriesAnotherWhenOneClosesWithoutAnAnswer) {
  http::OneAnswer mute("");
  Named b("b");
  const Balanced balanced(in_turn(), {url_of(mute.port()), b.url()});
  RawClient client(balanced.port());
  for (int i = 0; i < 20; ++i) EXPECT_EQ(body_of(client.ask(post("/", "x"))), "b / x");
  EXPECT_EQ(balanced.backend(0).counts.ejections, 1);
  EXPECT_EQ(balanced.backend(0).counts.failures, 5);
}

TEST(Proxy, DoesNotRepeatWhatMayHaveBeenDone) {
  http::OneAnswer half("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc");
  Named b("b");
  const Balanced balanced(in_turn(), {url_of(half.port()), b.url()});
  RawClient client(balanced.port());
  EXPECT_EQ(status_of(client.ask(post("/", "x"))), 502);
  EXPECT_EQ(status_of(client.ask(post("/", "x"))), 200);
  EXPECT_EQ(status_of(client.ask(get("/"))), 200);  // a GET may be repeated
}

TEST(Proxy, TakesOneRefusalElsewhereOnce) {
  Named a("a"), b("b");
  const Balanced balanced(in_turn(), {a.url(), b.url()});
  RawClient client(balanced.port());
  for (int i = 0; i < 6; ++i) EXPECT_EQ(body_of(client.ask(get("/busy-a"))), "b /busy-a ");
  EXPECT_EQ(balanced.proxy().counts().retries, 3);
  EXPECT_EQ(status_of(client.ask(get("/busy"))), 503);
  EXPECT_EQ(balanced.proxy().counts().retries, 4);
  EXPECT_EQ(balanced.backend(0).counts.ejections, 0);  // full is not broken
}

TEST(Proxy, PassesErrorsOnAndEjectsWhoMakesThem) {
  Named a("a"), b("b");
  const Balanced balanced(in_turn(), {a.url(), b.url()});
  RawClient client(balanced.port());
  for (int i = 0; i < 20; ++i) EXPECT_EQ(status_of(client.ask(get("/broken"))), 500);
  EXPECT_EQ(balanced.backend(0).counts.ejections + balanced.backend(1).counts.ejections, 1);  // never the last
}

TEST(Proxy, RetriesOnlyAShare) {
  ProxyOptions options = in_turn();
  options.health.eject_after = 0;
  options.retry_share = 0;
  http::OneAnswer mute("");
  Named b("b");
  const Balanced balanced(options, {url_of(mute.port()), b.url()});
  RawClient client(balanced.port());
  int failed = 0;
  for (int i = 0; i < 300; ++i) failed += status_of(client.ask(get("/"))) == 502 ? 1 : 0;
  EXPECT_EQ(balanced.proxy().counts().retries, 100);
  EXPECT_EQ(balanced.proxy().counts().refused_retries, failed);
  EXPECT_EQ(failed, 50);
}

TEST(Proxy, SaysWhenThereIsNobody) {
  Named a("a");
  const std::string gone = a.url();
  a.stop();
  const Balanced balanced(in_turn(), {gone});
  RawClient client(balanced.port());
  const std::string answer = client.ask(get("/"));
  EXPECT_EQ(status_of(answer), 502);
  EXPECT_NE(answer.find(R"({"error":)"), std::string::npos);
}

TEST(Proxy, WaitsNoLongerThanTold) {
  Named a("a");
  const Balanced balanced(in_turn(), {a.url()});
  RawClient client(balanced.port());
  EXPECT_EQ(status_of(client.ask("GET /never HTTP/1.1\r\nHost: x\r\nx-request-timeout-ms: 100\r\n\r\n")), 504);
  EXPECT_EQ(balanced.backend(0).counts.in_flight, 0);
}

TEST(Proxy, TellsTheBackendThatTheClientHasGone) {
  Named a("a");
  const Balanced balanced(in_turn(), {a.url()});
  auto client = std::make_unique<RawClient>(balanced.port());
  auto kept = a.kept();
  client->send(get("/never"));
  const http::Responder responder = kept.get();
  std::promise<void> gone;
  responder.on_gone([&] { gone.set_value(); });
  client.reset();
  EXPECT_EQ(gone.get_future().wait_for(seconds(60)), std::future_status::ready);
  EXPECT_EQ(balanced.backend(0).counts.in_flight, 0);
}

TEST(Proxy, KnowsTheLengthThatHeadIsAbout) {
  Named a("a");
  const Balanced balanced(in_turn(), {a.url()});
  RawClient client(balanced.port());
  client.send("HEAD /abc HTTP/1.1\r\nHost: x\r\n\r\n");
  const std::string answer = client.response(false);
  EXPECT_NE(answer.find("Content-Length: 7\r\n"), std::string::npos) << answer;
  EXPECT_EQ(body_of(client.ask(get("/abc"))), "a /abc ");
}

TEST(HealthChecks, TakeBackendsOutAndBack) {
  Named a("a"), b("b");
  ProxyOptions options = in_turn();
  options.health.interval = milliseconds(10);
  const Balanced balanced(options, {a.url(), b.url()});
  const HealthChecks checks(balanced.proxy().backends(), options.health);
  const auto is_up = [&] { return balanced.backend(0).is_up(Clock::now()); };
  a.set_ready(false);
  wait_for([&] { return !is_up(); });
  RawClient client(balanced.port());
  for (int i = 0; i < 10; ++i) EXPECT_EQ(body_of(client.ask(get("/"))), "b / ");
  a.set_ready(true);
  wait_for(is_up);
  a.stop();
  wait_for([&] { return !is_up(); });
  EXPECT_TRUE(balanced.backend(1).is_up(Clock::now()));
}

TEST(RetryBudget, FillsWithRequests) {
  RetryBudget budget(0.5);
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(budget.take());
  EXPECT_FALSE(budget.take());
  budget.note_request();
  EXPECT_FALSE(budget.take());
  budget.note_request();
  EXPECT_TRUE(budget.take());
  EXPECT_FALSE(budget.take());
}

}  // namespace
}  // namespace lockring::app::balance
