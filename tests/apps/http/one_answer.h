// A server that says the same to whoever asks, right or wrong, and closes.
#pragma once

#include <string>
#include <thread>

namespace lockring::app::http {

class OneAnswer {
 public:
  explicit OneAnswer(std::string answer);
  ~OneAnswer();
  OneAnswer(const OneAnswer&) = delete;
  OneAnswer& operator=(const OneAnswer&) = delete;

  int port() const { return port_; }

 private:
  void run() const;

  std::string answer_;
  int listener_ = -1;
  int port_ = 0;
  std::thread thread_;
};

}  // namespace lockring::app::http
