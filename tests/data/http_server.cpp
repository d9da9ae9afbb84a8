#include "tests/data/http_server.h"

#include "core/error.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <utility>

namespace lockring::data {
namespace {

std::string read_request(int connection) {
  std::string text;
  std::array<char, 4096> buffer;
  while (text.find("\r\n\r\n") == std::string::npos) {
    const ssize_t count = recv(connection, buffer.data(), buffer.size(), 0);
    if (count <= 0) break;
    text.append(buffer.data(), static_cast<std::size_t>(count));
  }
  return text;
}

// What stands between `start` and the next `end`, or nothing.
std::string between(const std::string& text, const std::string& start, const std::string& end) {
  const std::size_t begin = text.find(start);
  if (begin == std::string::npos) return "";
  const std::size_t from = begin + start.size();
  return text.substr(from, text.find(end, from) - from);
}

}  // namespace

HttpServer::HttpServer(Handler handler) : handler_(std::move(handler)) {
  socket_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  auto* general = reinterpret_cast<sockaddr*>(&address);
  check(bind(socket_, general, size) == 0 && listen(socket_, 16) == 0 && getsockname(socket_, general, &size) == 0,
        ErrorCode::other, "cannot listen on the loopback interface");
  port_ = ntohs(address.sin_port);
  thread_ = std::thread([this] { serve(); });
}

HttpServer::~HttpServer() {
  stop_ = true;
  shutdown(socket_, SHUT_RDWR);
  thread_.join();
  close(socket_);
}

std::string HttpServer::url() const { return fmt::format("http://127.0.0.1:{}", port_); }

std::vector<HttpRequest> HttpServer::requests() const {
  const std::lock_guard lock(mutex_);
  return requests_;
}

void HttpServer::serve() {
  while (!stop_) {
    const int connection = accept(socket_, nullptr, nullptr);
    if (connection < 0) continue;
    answer(connection);
    close(connection);
  }
}

void HttpServer::answer(int connection) {
  const std::string text = read_request(connection);
  const HttpRequest request{between(text, "GET ", " "), between(text, "Range: ", "\r\n")};
  {
    const std::lock_guard lock(mutex_);
    requests_.push_back(request);
  }
  const std::string reply = handler_(request);
  for (std::size_t sent = 0; sent < reply.size();) {
    const ssize_t count = send(connection, reply.data() + sent, reply.size() - sent, MSG_NOSIGNAL);
    if (count <= 0) break;
    sent += static_cast<std::size_t>(count);
  }
}

std::string http_answer(const std::string& status, const std::string& body, const std::string& headers) {
  return fmt::format("HTTP/1.1 {}\r\nConnection: close\r\nContent-Length: {}\r\n{}\r\n{}", status, body.size(), headers,
                     body);
}

std::string serve_file(const std::map<std::string, std::string>& files, const HttpRequest& request) {
  const auto file = files.find(request.path);
  if (file == files.end()) return http_answer("404 Not Found", "none");
  const std::string& content = file->second;
  if (request.range.empty()) return http_answer("200 OK", content);
  const std::size_t start = std::stoul(between(request.range, "bytes=", "-"));
  if (start >= content.size()) return http_answer("416 Range Not Satisfiable", "");
  return http_answer("206 Partial Content", content.substr(start),
                     fmt::format("Content-Range: bytes {}-{}/{}\r\n", start, content.size() - 1, content.size()));
}

}  // namespace lockring::data
