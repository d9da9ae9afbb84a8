#include "data/download.h"

#include "core/files.h"
#include "data/dataset.h"
#include "data/ingest.h"
#include "tests/data/child_process.h"
#include "tests/data/http_server.h"
#include "tests/data/small_files.h"
#include "tests/support/errors.h"
#include "tests/support/temporary_directory.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>

namespace lockring::data {
namespace {

namespace fs = std::filesystem;

class DownloadTest : public testing::Test {
 protected:
  DownloadTest() {
    setenv("no_proxy", "127.0.0.1", 1);
    const auto files = small_dataset();
    for (std::size_t i = 0; i < files.size(); ++i) files_[fmt::format("/{}.gz", kFileNames[i])] = gzip(files[i]);
    options_.name = "small";
    options_.data_dir = folder_ / "data";
  }
  IngestReport ingest_from(const HttpServer& server) {
    options_.source = server.url();
    return ingest(options_);
  }
  void expect_bad(const HttpServer& server, std::string_view part) {
    expect_error(ErrorCode::data, part, [&] { ingest_from(server); });
    expect_error(ErrorCode::data, server.url(), [&] { ingest_from(server); });
    EXPECT_FALSE(fs::exists(options_.data_dir / "small" / "current"));
  }
  HttpServer::Handler serve_files() {
    return [this](const HttpRequest& request) { return serve_file(files_, request); };
  }

  TemporaryDirectory folder_;
  std::map<std::string, std::string> files_;
  IngestOptions options_;
};

TEST_F(DownloadTest, IngestsAndRemembers) {
  std::int64_t last = 0;
  options_.progress = [&](std::string_view, std::int64_t done, std::int64_t) { last = done; };
  const HttpServer server(serve_files());
  const IngestReport report = ingest_from(server);
  EXPECT_EQ(report.manifest.train.images, 30);
  EXPECT_EQ(report.manifest.source, server.url());
  EXPECT_EQ(server.requests().size(), 5u);
  EXPECT_EQ(server.requests()[4].path, "/classes.txt");
  EXPECT_GT(last, 0);
  load_dataset(options_.data_dir, "small");
  EXPECT_TRUE(ingest_from(server).already_there);
  EXPECT_EQ(server.requests().size(), 5u);
  // Nothing but the version, the pointer and the lock stays.
  const fs::directory_iterator entries(options_.data_dir / "small");
  EXPECT_EQ(std::distance(fs::begin(entries), fs::end(entries)), 3);
}

TEST_F(DownloadTest, TakesPlainFilesWhereThereIsNoGzip) {
  const auto files = small_dataset();
  files_.erase("/t10k-labels-idx1-ubyte.gz");
  files_["/t10k-labels-idx1-ubyte"] = files[3];
  const HttpServer server(serve_files());
  EXPECT_EQ(ingest_from(server).manifest.test.images, 20);
}

TEST_F(DownloadTest, TakesTheNamesOfClassesWhereThereAreAny) {
  files_["/classes.txt"] = "a\nb\nc\nd\ne\nf\ng\nh\ni\nj\n";
  const HttpServer server(serve_files());
  EXPECT_EQ(ingest_from(server).manifest.classes[1], "b");
  files_["/classes.txt"] = "<!doctype html>not found";
  options_.name = "other";
  EXPECT_EQ(ingest_from(server).manifest.classes[1], "1");
  const HttpServer forbidding([&](const HttpRequest& request) {
    return request.path == "/classes.txt" ? http_answer("403 Forbidden", "no") : serve_file(files_, request);
  });
  options_.name = "another";
  EXPECT_EQ(ingest_from(forbidding).manifest.classes[1], "1");
}

TEST_F(DownloadTest, GoesOnAfterABrokenConnection) {
  // The first answer stops in the middle of the body.
  bool broken = false;
  const HttpServer server([&](const HttpRequest& request) {
    std::string answer = serve_file(files_, request);
    if (!std::exchange(broken, true)) answer.resize(answer.size() - 40);
    return answer;
  });
  EXPECT_EQ(ingest_from(server).manifest.train.images, 30);
  const auto requests = server.requests();
  ASSERT_EQ(requests.size(), 6u);
  EXPECT_EQ(requests[1].path, requests[0].path);
  const std::size_t size = files_["/train-images-idx3-ubyte.gz"].size();
  EXPECT_EQ(requests[1].range, fmt::format("bytes={}-", size - 40));
}

TEST_F(DownloadTest, GoesOnWhereAnEarlierProcessStopped) {
  const auto& content = files_["/train-images-idx3-ubyte.gz"];
  const fs::path folder = folder_ / "downloads";
  fs::create_directories(folder);
  write(folder / "train-images-idx3-ubyte.gz.part", content.substr(0, 50));
  write(folder / "t10k-images-idx3-ubyte.gz", "whole");
  const HttpServer server(serve_files());
  const FilePaths paths = download_files(server.url() + "/", folder, {});
  EXPECT_EQ(read_file(paths[0]), content);
  EXPECT_EQ(read_file(paths[2]), "whole");
  const auto requests = server.requests();
  ASSERT_EQ(requests.size(), 3u);
  EXPECT_EQ(requests[0].range, "bytes=50-");
}

TEST_F(DownloadTest, StartsAgainWhereAPartIsNoUse) {
  const fs::path folder = folder_ / "downloads";
  fs::create_directories(folder);
  const auto& content = files_["/train-images-idx3-ubyte.gz"];
  // Longer than the file; and a server that knows no ranges.
  write(folder / "train-images-idx3-ubyte.gz.part", content + "more");
  {
    const HttpServer server(serve_files());
    EXPECT_EQ(read_file(download_files(server.url(), folder, {})[0]), content);
  }
  fs::remove(folder / "train-images-idx3-ubyte.gz");
  write(folder / "train-images-idx3-ubyte.gz.part", content.substr(0, 50));
  const HttpServer server([&](HttpRequest request) {
    request.range.clear();
    return serve_file(files_, request);
  });
  EXPECT_EQ(read_file(download_files(server.url(), folder, {})[0]), content);
}

TEST_F(DownloadTest, FollowsRedirectsToALimit) {
  const HttpServer server([&](HttpRequest request) {
    if (request.path.starts_with("/moved/")) {
      request.path.erase(0, 6);
      return serve_file(files_, request);
    }
    return http_answer("302 Found", "", "Location: /moved" + request.path + "\r\n");
  });
  EXPECT_EQ(ingest_from(server).manifest.train.images, 30);
  const HttpServer loop([](const HttpRequest&) { return http_answer("302 Found", "", "Location: /again\r\n"); });
  options_.name = "loop";
  expect_error(ErrorCode::data, "redirects", [&] { ingest_from(loop); });
}

TEST_F(DownloadTest, ServerErrorsAreErrors) {
  const HttpServer nothing([](const HttpRequest&) { return http_answer("404 Not Found", "none"); });
  expect_bad(nothing, "neither it nor train-images-idx3-ubyte.gz is there (HTTP status 404)");
  const HttpServer broken([](const HttpRequest&) { return http_answer("500 Internal Server Error", "oh"); });
  expect_bad(broken, "500");
  const HttpServer silent([](const HttpRequest&) { return std::string(); });
  expect_bad(silent, "cannot download");
  EXPECT_EQ(silent.requests().size(), 8u);  // twice the attempts
}

TEST_F(DownloadTest, AnHtmlPageIsNoData) {
  const HttpServer server([](const HttpRequest&) { return http_answer("200 OK", "<html>Welcome</html>"); });
  expect_bad(server, "found an HTML page");
}

TEST_F(DownloadTest, DamagedFilesAreFetchedAnew) {
  auto good = files_;
  files_["/t10k-images-idx3-ubyte.gz"][60] ^= 1;
  const HttpServer server(serve_files());
  expect_error(ErrorCode::data, "downloaded from " + server.url(), [&] { ingest_from(server); });
  files_ = good;
  EXPECT_EQ(ingest_from(server).manifest.train.images, 30);
}

TEST_F(DownloadTest, WhatProgressThrowsStopsIt) {
  options_.progress = [](auto...) { fail(ErrorCode::other, "stopped"); };
  const HttpServer server(serve_files());
  expect_error(ErrorCode::other, "stopped", [&] { ingest_from(server); });
}

// What has arrived stays, to go on from once there is room.
TEST_F(DownloadTest, AFullDiskIsNamed) {
  const HttpServer server(serve_files());
  ChildProcess child([&] {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{40, 40};
    setrlimit(RLIMIT_FSIZE, &limit);
    expect_error(ErrorCode::data, "train-images-idx3-ubyte.gz.part: File too large", [&] { ingest_from(server); });
    return 0;
  });
  EXPECT_EQ(child.wait(), 0);
  EXPECT_FALSE(fs::exists(options_.data_dir / "small" / "current"));
  EXPECT_EQ(ingest_from(server).manifest.train.images, 30);
}

TEST_F(DownloadTest, NobodyThere) {
  std::string url;
  {
    const HttpServer server(serve_files());
    url = server.url();
  }
  options_.source = url;
  expect_error(ErrorCode::data, "cannot download " + url, [&] { ingest(options_); });
}

}  // namespace
}  // namespace lockring::data
