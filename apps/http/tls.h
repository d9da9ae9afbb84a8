// Certificates and settings for TLS, shared by all connections.
#pragma once

#include <memory>
#include <string>

namespace boost::asio::ssl {
class context;
}

namespace lockring::app::http {

// TLS 1.2 and later.
class TlsContext {
 public:
  // A server's. Throws Error{data} that names the file if the certificate (a PEM chain) or its key cannot be used.
  static std::unique_ptr<TlsContext> server(const std::string& certificate, const std::string& key);
  // A client's: trusts the system's authorities, or those in the PEM file `authorities`; or anyone if not `verify`.
  static std::unique_ptr<TlsContext> client(bool verify, const std::string& authorities);
  ~TlsContext();

  boost::asio::ssl::context& context() { return *context_; }

 private:
  TlsContext();
  std::unique_ptr<boost::asio::ssl::context> context_;
};

}  // namespace lockring::app::http
