#include "apps/http/tls.h"

#include "core/error.h"

#include <boost/asio/ssl/context.hpp>

namespace lockring::app::http {

namespace ssl = boost::asio::ssl;
using boost::system::error_code;

TlsContext::TlsContext() : context_(std::make_unique<ssl::context>(ssl::context::tls)) {
  SSL_CTX_set_min_proto_version(context_->native_handle(), TLS1_2_VERSION);
  SSL_CTX_set_options(context_->native_handle(), SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  SSL_CTX_set_mode(context_->native_handle(), SSL_MODE_RELEASE_BUFFERS);  // idle connections keep no buffers
}

TlsContext::~TlsContext() = default;

std::unique_ptr<TlsContext> TlsContext::server(const std::string& certificate, const std::string& key) {
  std::unique_ptr<TlsContext> tls(new TlsContext);
  error_code error;
  tls->context_->use_certificate_chain_file(certificate, error);
  check(!error, ErrorCode::data, "the certificate '{}' cannot be used: {}", certificate, error.message());
  tls->context_->use_private_key_file(key, ssl::context::pem, error);
  check(!error, ErrorCode::data, "the key '{}' cannot be used: {}", key, error.message());
  check(SSL_CTX_check_private_key(tls->context_->native_handle()) == 1, ErrorCode::data,
        "the key '{}' does not belong to the certificate '{}'", key, certificate);
  return tls;
}

std::unique_ptr<TlsContext> TlsContext::client(bool verify, const std::string& authorities) {
  std::unique_ptr<TlsContext> tls(new TlsContext);
  tls->context_->set_verify_mode(verify ? ssl::verify_peer : ssl::verify_none);
  error_code error;
  if (authorities.empty()) {
    tls->context_->set_default_verify_paths(error);
  } else {
    tls->context_->load_verify_file(authorities, error);
    check(!error, ErrorCode::data, "the authorities '{}' cannot be used: {}", authorities, error.message());
  }
  return tls;
}

}  // namespace lockring::app::http
