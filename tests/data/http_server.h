// A small HTTP server on the loopback interface, for tests of downloads. Serves what it is given, or misbehaves.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace lockring::data {

struct HttpRequest {
  std::string path;
  std::string range;  // "bytes=5-", or empty
};

class HttpServer {
 public:
  // Given a request, the whole answer: status line, headers and body, as sent.
  using Handler = std::function<std::string(const HttpRequest&)>;

  explicit HttpServer(Handler handler);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  std::string url() const;  // without a slash at the end
  std::vector<HttpRequest> requests() const;

 private:
  void serve();
  void answer(int connection);

  Handler handler_;
  int socket_ = -1;
  int port_ = 0;
  mutable std::mutex mutex_;
  std::vector<HttpRequest> requests_;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

std::string http_answer(const std::string& status, const std::string& body, const std::string& headers = "");
// 404, or the file of that path, or the part of it that the request wants.
std::string serve_file(const std::map<std::string, std::string>& files, const HttpRequest& request);

}  // namespace lockring::data
