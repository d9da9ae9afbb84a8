#include "apps/ask/asked_server.h"

#include "apps/http/fetch.h"
#include "apps/http/tls.h"
#include "core/error.h"
#include "core/text.h"

#include <utility>

namespace lockring::app {
namespace {

constexpr std::chrono::milliseconds kPatience{5000};
constexpr std::chrono::milliseconds kLongPatience{60000};  // for what has to be computed

std::string body_of(const http::Received& answer, const http::Url& url, std::string_view method,
                    const std::string& target) {
  constexpr std::size_t kShown = 200;
  check(answer.status == 200, ErrorCode::device, "{} answers {} {} with {}: {}", url.authority(), method, target,
        answer.status, printable(answer.body.text().substr(0, kShown)));
  return std::string(answer.body.text());
}

}  // namespace

AskedServer::AskedServer(const std::string& url, std::vector<http::Header> headers, bool insecure,
                         const std::string& authorities)
    : url_(http::parse_url(url)), headers_(std::move(headers)) {
  std::shared_ptr<http::TlsContext> tls;
  if (url_.tls) tls = http::TlsContext::client(!insecure, authorities);
  destination_ = http::find_server(url_, tls, kPatience);
}

std::string AskedServer::get(const std::string& target) const {
  return body_of(http::fetch(destination_, url_, target, headers_, kPatience), url_, "GET", target);
}

std::string AskedServer::post(const std::string& target, const std::vector<http::Header>& headers,
                              std::string_view body) const {
  std::vector<http::Header> all = headers_;
  all.insert(all.end(), headers.begin(), headers.end());
  return body_of(http::post(destination_, url_, target, all, body, kLongPatience), url_, "POST", target);
}

}  // namespace lockring::app
