// A client that sends any bytes to a server on this machine, right or wrong.
#pragma once

#include <string>
#include <string_view>

namespace lockring::app::http {

class RawClient {
 public:
  explicit RawClient(int port);
  ~RawClient();
  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;

  void send(std::string_view bytes);
  // Tells the server that nothing more comes.
  void finish();
  void close();
  // One response with the body that its Content-Length says; what was read beyond stays for the next call. "" when the
  // server has closed. Fails the test after twenty seconds.
  std::string response(bool with_body = true);
  // All until the server closes.
  std::string rest();
  // send and response.
  std::string ask(std::string_view bytes);

 private:
  bool fill();
  int socket_ = -1;
  std::string pending_;
};

// "GET path" as a request.
std::string get(std::string_view path);
std::string post(std::string_view path, std::string_view body);
// Of a response's text.
int status_of(std::string_view response);
std::string body_of(std::string_view response);

}  // namespace lockring::app::http
