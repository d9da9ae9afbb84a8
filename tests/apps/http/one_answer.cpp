#include "tests/apps/http/one_answer.h"

#include <gtest/gtest.h>

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace lockring::app::http {

OneAnswer::OneAnswer(std::string answer)
    : answer_(std::move(answer)), listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  EXPECT_EQ(::bind(listener_, reinterpret_cast<sockaddr*>(&address), size), 0);
  EXPECT_EQ(::listen(listener_, 16), 0);
  EXPECT_EQ(::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size), 0);
  port_ = ntohs(address.sin_port);
  thread_ = std::thread([this] { run(); });
}

OneAnswer::~OneAnswer() {
  ::shutdown(listener_, SHUT_RDWR);  // which ends accept
  thread_.join();
  ::close(listener_);
}

void OneAnswer::run() const {
  while (true) {
    const int client = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (client < 0) return;
    char block[4096];
    if (::recv(client, block, sizeof block, 0) > 0) ::send(client, answer_.data(), answer_.size(), MSG_NOSIGNAL);
    ::shutdown(client, SHUT_WR);
    while (::recv(client, block, sizeof block, 0) > 0) {
    }
    ::close(client);
  }
}

}  // namespace lockring::app::http
