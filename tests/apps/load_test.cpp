#include "apps/http/server.h"
#include "tests/apps/captured_run.h"
#include "tests/support/temporary_directory.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <fstream>
#include <mutex>
#include <set>
#include <utility>

namespace lockring::app {
namespace {

using nlohmann::json;

constexpr const char* kModel =
    R"({"name":"cnn","inputs":[{"name":"image","datatype":"FP32","shape":[-1,1,4,4]}],"outputs":[]})";

// A server that serves one model as far as its clients can tell, and remembers what it was asked.
class LoadCommand : public testing::Test {
 protected:
  LoadCommand() {
    http::ServerOptions options;
    options.threads = 1;
    server_ = std::make_unique<http::Server>(options, [this](http::Request&& request, http::Responder responder) {
      if (request.path == "/v2/models") return responder.send(http::json_response(200, R"({"models":["cnn"]})"));
      if (request.path == "/v2/models/cnn") return responder.send(http::json_response(200, kModel));
      const int status = request.path == "/none" ? 404 : 200;
      {
        const std::lock_guard lock(mutex_);
        asked_.push_back(std::move(request));
      }
      responder.send(http::json_response(status, "{}"));
    });
    server_->start();
    url_ = fmt::format("http://127.0.0.1:{}", server_->port());
  }

  json load(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "load");
    arguments.insert(arguments.end(), {"--requests", "6", "--connections", "2", "--json"});
    const CapturedRun run = captured_run(arguments);
    EXPECT_EQ(run.code, 0) << run.err;
    return json::parse(run.out);
  }

  // Since it was last called.
  std::vector<http::Request> asked() {
    const std::lock_guard lock(mutex_);
    return std::exchange(asked_, {});
  }

  TemporaryDirectory folder_;
  std::mutex mutex_;
  std::vector<http::Request> asked_;
  std::unique_ptr<http::Server> server_;
  std::string url_;
};

TEST_F(LoadCommand, SendsWhatTheServersModelTakes) {
  const json report = load({url_});
  EXPECT_EQ(report["target"], "/v2/models/cnn/infer");
  EXPECT_EQ(report["responses"], 6);
  EXPECT_EQ(report["statuses"]["200"], 6);
  EXPECT_EQ(report["latency_ms"]["count"], 6);
  EXPECT_EQ(report["failures"], 0);
  EXPECT_EQ(report["loop"], "closed");
  const std::vector<http::Request> asked = this->asked();
  ASSERT_EQ(asked.size(), 6u);
  std::set<std::string> bodies;
  for (const http::Request& request : asked) {
    EXPECT_EQ(json::parse(request.body.text())["inputs"][0]["data"].size(), 16u);
    bodies.emplace(request.body.text());
  }
  EXPECT_EQ(bodies.size(), 6u);
}

TEST_F(LoadCommand, SendsBinaryTensors) {
  load({url_, "--binary", "--datatype", "UINT8", "--batch", "3", "--model", "cnn"});
  for (const http::Request& request : asked()) {
    const std::size_t length = std::stoul(std::string(request.header("inference-header-content-length")));
    EXPECT_EQ(request.body.size(), length + 3 * 16);
  }
}

TEST_F(LoadCommand, SendsFiles) {
  const std::string path = (folder_.path() / "a.png").string();
  std::ofstream(path) << "picture";
  EXPECT_EQ(load({url_, "--image", path})["target"], "/predict");
  EXPECT_EQ(load({url_, "--image", path, "--model", "cnn"})["target"], "/predict?model=cnn");
  EXPECT_EQ(load({url_ + "/x", "--body", path, "--content-type", "text/x", "--header", "X-Key: a b"})["target"], "/x");
  const std::vector<http::Request> asked = this->asked();
  ASSERT_FALSE(asked.empty());
  EXPECT_EQ(asked.front().header("content-type"), "image/png");
  EXPECT_EQ(asked.back().header("content-type"), "text/x");
  EXPECT_EQ(asked.back().header("x-key"), "a b");
  EXPECT_EQ(asked.back().body.text(), "picture");
  EXPECT_EQ(asked.back().method, "POST");
}

TEST_F(LoadCommand, AsksForAPath) {
  EXPECT_EQ(load({url_ + "/a?b=c"})["target"], "/a?b=c");
  const std::vector<http::Request> asked = this->asked();
  ASSERT_FALSE(asked.empty());
  EXPECT_EQ(asked.back().method, "GET");
  const json refused = load({url_ + "/none", "--method", "HEAD"});
  EXPECT_EQ(refused["statuses"]["404"], 6);
  EXPECT_EQ(refused["refused_latency_ms"]["count"], 6);
}

TEST_F(LoadCommand, SendsAtARate) {
  const json report = load({url_ + "/a", "--rate", "1000", "--arrivals", "poisson"});
  EXPECT_EQ(report["loop"], "open");
  EXPECT_EQ(report["rate"], 1000);
  EXPECT_EQ(report["responses"], 6);
}

TEST_F(LoadCommand, PrintsAReport) {
  const CapturedRun run = captured_run({"load", url_ + "/none", "--requests", "1000"});
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_NE(run.out.find("requests/s"), std::string::npos);
  EXPECT_NE(run.out.find("p99.9"), std::string::npos);
  EXPECT_NE(run.out.find("status 404: 1,000 (100.00 %)"), std::string::npos) << run.out;
}

TEST_F(LoadCommand, SaysWhatIsWrong) {
  const auto complaint = [&](std::vector<std::string> arguments, int code) {
    arguments.insert(arguments.begin(), "load");
    const CapturedRun run = captured_run(arguments);
    EXPECT_EQ(run.code, code) << run.err;
    return run.err;
  };
  EXPECT_NE(complaint({"ftp://x"}, 2).find("http://"), std::string::npos);
  EXPECT_NE(complaint({url_, "--model", "nn"}, 3).find("description of the model"), std::string::npos);
  EXPECT_NE(complaint({url_, "--header", "nonsense"}, 2).find("Name: value"), std::string::npos);
  EXPECT_NE(complaint({url_, "--header", "A: b\r\nC: d"}, 2).find("Name: value"), std::string::npos);
  EXPECT_NE(complaint({url_, "--rate", "0"}, 2).find("--rate"), std::string::npos);
  EXPECT_NE(complaint({url_, "--duration", "5"}, 2).find("--duration"), std::string::npos);
  EXPECT_NE(complaint({url_, "--body", "/nowhere/x"}, 3).find("/nowhere/x"), std::string::npos);
  server_.reset();
  EXPECT_NE(complaint({url_}, 4).find("refused"), std::string::npos);
}

}  // namespace
}  // namespace lockring::app
