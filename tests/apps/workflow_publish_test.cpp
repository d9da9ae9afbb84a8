// The models of a selection on their way to a server.
#include "apps/workflow/publish.h"

#include "apps/select/selection.h"
#include "core/files.h"
#include "tests/apps/captured_run.h"
#include "tests/support/errors.h"
#include "tests/support/temporary_directory.h"

#include <gtest/gtest.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <fstream>
#include <thread>

namespace lockring::app::workflow {
namespace {

namespace fs = std::filesystem;

// Answers so many requests, each on a connection of its own, and keeps their first lines.
class OneLineServer {
 public:
  OneLineServer(int requests, std::string status) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    EXPECT_EQ(bind(socket_, reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(listen(socket_, 8), 0);
    getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &size);
    url_ = "http://127.0.0.1:" + std::to_string(ntohs(address.sin_port));
    thread_ = std::thread([this, requests, status = std::move(status)] {
      for (int i = 0; i < requests; ++i) answer(status);
    });
  }
  ~OneLineServer() {
    wait();
    close(socket_);
  }
  const std::string& url() const { return url_; }
  const std::vector<std::string>& wait() {
    if (thread_.joinable()) thread_.join();
    return lines_;
  }

 private:
  void answer(const std::string& status) {
    const int connection = accept(socket_, nullptr, nullptr);
    std::string request;
    char byte = 0;
    while (!request.ends_with("\r\n\r\n{}") && read(connection, &byte, 1) == 1) request += byte;
    lines_.push_back(request.substr(0, request.find('\r')));
    const std::string reply = "HTTP/1.1 " + status + "\r\nContent-Length: 3\r\nConnection: close\r\n\r\nwhy";
    EXPECT_EQ(write(connection, reply.data(), reply.size()), static_cast<ssize_t>(reply.size()));
    close(connection);
  }

  int socket_;
  std::string url_;
  std::vector<std::string> lines_;
  std::thread thread_;
};

class WorkflowPublish : public testing::Test {
 protected:
  void write(const std::string& name, const std::string& text) const { std::ofstream(directory_ / name) << text; }
  // A selection of bundles with these contents, the best first.
  void select(const std::vector<std::string>& bundles) const {
    Selection selection{.metric = "val_accuracy", .models = {}};
    for (const std::string& bundle : bundles) {
      write("bundle" + bundle, bundle);
      SelectedModel& model = selection.models.emplace_back();
      model.name = bundle;
      model.bundle = directory_ / ("bundle" + bundle);
      model.digest = sha256(bundle);
    }
    write_selection(directory_ / "selection.json", selection);
  }
  std::vector<Published> publish_to(const std::string& server = "") const {
    return publish({.selection = directory_ / "selection.json",
                    .folder = directory_ / "models",
                    .names = {"first", "second"},
                    .server = server});
  }
  std::string served(const std::string& name) const {
    return read_file(directory_ / "models" / (name + ".safetensors"));
  }

  const TemporaryDirectory directory_;
};

TEST_F(WorkflowPublish, FewerModelsThanNamesFillTheRest) {
  select({"a"});
  publish_to();
  EXPECT_EQ(served("first"), "a");
  EXPECT_EQ(served("second"), "a");
  select({"b", "a", "c"});
  const std::vector<Published> published = publish_to();
  EXPECT_EQ(served("first"), "b");
  EXPECT_EQ(served("second"), "a");
  EXPECT_TRUE(published[0].is_new);
  EXPECT_EQ(published[0].model, "b");
  EXPECT_FALSE(published[1].is_new);
}

TEST_F(WorkflowPublish, TheServerLoadsWhatIsNew) {
  select({"a"});
  publish_to();
  select({"a", "b"});
  OneLineServer server(1, "200 OK");
  publish_to(server.url());
  EXPECT_EQ(server.wait(), std::vector<std::string>{"POST /v2/repository/models/second/load HTTP/1.1"});
}

TEST_F(WorkflowPublish, AServerThatRefuses) {
  select({"a"});
  OneLineServer server(1, "400 Bad Request");
  expect_error(ErrorCode::device, "/v2/repository/models/first/load: 400 why", [&] { publish_to(server.url()); });
  expect_error(ErrorCode::device, "POST http://127.0.0.1:1/v2/repository/models/second/load",
               [&] { publish_to("http://127.0.0.1:1"); });
}

TEST_F(WorkflowPublish, Mistakes) {
  expect_error(ErrorCode::data, "cannot read", [&] { publish_to(); });
  write("selection.json", "{}");
  expect_error(ErrorCode::data, "selection.json", [&] { publish_to(); });
  select({"a"});
  write("bundlea", "other");
  expect_error(ErrorCode::data, "is not the bundle that", [&] { publish_to(); });
  EXPECT_FALSE(fs::exists(directory_ / "models" / "first.safetensors"));
}

TEST_F(WorkflowPublish, TheCommand) {
  select({"a", "b"});
  const CapturedRun run = captured_run({"workflow", "publish", (directory_ / "selection.json").string(), "--into",
                                        (directory_ / "models").string(), "--as", "one", "--as", "two"});
  EXPECT_EQ(run.out, "one: a\ntwo: b\n") << run.err;
}

}  // namespace
}  // namespace lockring::app::workflow
