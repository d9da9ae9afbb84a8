// A server as one asks it a few things: GET and POST, each waited for.
#pragma once

#include "apps/http/client_connection.h"
#include "apps/http/url.h"

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

namespace lockring::app {

class AskedServer {
 public:
  // Finds it. `headers` go with every request; an https server's certificate is checked against the system's
  // authorities, or those in the file `authorities`, unless `insecure`. Throws Error{usage} for what is no URL,
  // Error{device} if nobody listens there.
  AskedServer(const std::string& url, std::vector<http::Header> headers, bool insecure, const std::string& authorities);

  // The body of the answer, which has status 200. Throws Error{device} for others, and if there is none.
  std::string get(const std::string& target) const;
  std::string post(const std::string& target, const std::vector<http::Header>& headers, std::string_view body) const;

  const http::Url& url() const { return url_; }
  const http::Destination& destination() const { return destination_; }
  const std::vector<http::Header>& headers() const { return headers_; }

 private:
  http::Url url_;
  std::vector<http::Header> headers_;
  http::Destination destination_;
};

}  // namespace lockring::app
