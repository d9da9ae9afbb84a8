#include "tests/apps/http/raw_client.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>

namespace lockring::app::http {

RawClient::RawClient(int port) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(::connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  const timeval time{60, 0};
  ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof time);
  ::setsockopt(socket_, SOL_SOCKET, SO_SNDTIMEO, &time, sizeof time);
}

RawClient::~RawClient() { close(); }

void RawClient::close() {
  if (socket_ >= 0) ::close(socket_);
  socket_ = -1;
}

void RawClient::send(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return;  // the server does not want more; its answer says why
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
}

void RawClient::finish() { ::shutdown(socket_, SHUT_WR); }

bool RawClient::fill() {
  char block[64 * 1024];
  const ssize_t count = ::recv(socket_, block, sizeof block, 0);
  EXPECT_TRUE(count >= 0 || errno == ECONNRESET) << "the server does not answer";
  if (count <= 0) return false;
  pending_.append(block, static_cast<std::size_t>(count));
  return true;
}

std::string RawClient::response(bool with_body) {
  std::size_t head = 0;
  while ((head = pending_.find("\r\n\r\n")) == std::string::npos) {
    if (!fill()) return "";
  }
  std::size_t size = head + 4;
  const std::size_t length = pending_.find("Content-Length: ");
  if (with_body && length < head) size += std::strtoull(pending_.c_str() + length + 16, nullptr, 10);
  while (pending_.size() < size) {
    if (!fill()) return "";
  }
  std::string response = pending_.substr(0, size);
  pending_.erase(0, size);
  return response;
}

std::string RawClient::rest() {
  while (fill()) {
  }
  return std::exchange(pending_, {});
}

std::string RawClient::ask(std::string_view bytes) {
  send(bytes);
  return response();
}

std::string get(std::string_view path) { return fmt::format("GET {} HTTP/1.1\r\nHost: test\r\n\r\n", path); }

std::string post(std::string_view path, std::string_view body) {
  return fmt::format("POST {} HTTP/1.1\r\nHost: test\r\nContent-Length: {}\r\n\r\n{}", path, body.size(), body);
}

int status_of(std::string_view response) {
  return response.size() < 12 ? 0 : std::atoi(std::string(response.substr(9, 3)).c_str());
}

std::string body_of(std::string_view response) {
  const std::size_t head = response.find("\r\n\r\n");
  return head == std::string_view::npos ? "" : std::string(response.substr(head + 4));
}

}  // namespace lockring::app::http
