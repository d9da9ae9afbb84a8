#include "apps/serve/api_key.h"

#include "apps/serve/pages.h"
#include "core/error.h"
#include "core/files.h"

#include <openssl/crypto.h>

namespace lockring::app::serve {
namespace {

std::string_view key_of(const http::Request& request) {
  if (request.has_header("x-api-key")) return request.header("x-api-key");
  constexpr std::string_view kBearer = "Bearer ";
  const std::string_view field = request.header("authorization");
  return field.starts_with(kBearer) ? field.substr(kBearer.size()) : std::string_view();
}

}  // namespace

std::function<std::optional<http::Response>(const http::Request&)> key_check(const std::string& file) {
  std::string key = read_file(file);
  while (!key.empty() && (key.back() == '\n' || key.back() == '\r' || key.back() == ' ')) key.pop_back();
  check(!key.empty(), ErrorCode::data, "{}: holds no key", file);
  return [key](const http::Request& request) -> std::optional<http::Response> {
    if (request.path.starts_with("/v2/health/") || page_at(request.path)) return std::nullopt;
    const std::string_view given = key_of(request);
    if (given.empty()) {
      http::Response response = http::error_response(401, "expected an API key, as X-API-Key or as a bearer token");
      response.headers.push_back({"WWW-Authenticate", "Bearer"});
      return response;
    }
    // In a time that does not tell how much of it is right.
    if (given.size() == key.size() && CRYPTO_memcmp(given.data(), key.data(), key.size()) == 0) return std::nullopt;
    return http::error_response(403, "this is not the API key");
  };
}

}  // namespace lockring::app::serve
