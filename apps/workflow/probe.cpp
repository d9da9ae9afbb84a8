#include "apps/workflow/probe.h"

#include "core/error.h"
#include "core/text.h"

#include <curl/curl.h>

#include <memory>

namespace lockring::app::workflow {
namespace {

constexpr long kPatience = 300;  // milliseconds

std::size_t ignore_body(char*, std::size_t size, std::size_t count, void*) { return size * count; }

}  // namespace

bool answers(const std::string& target) {
  if (target.empty()) return true;
  const bool tcp = target.starts_with("tcp:");
  check(tcp || target.starts_with("http://") || target.starts_with("https://"), ErrorCode::data,
        "ready: expected http://..., https://... or tcp:HOST:PORT, found '{}'", printable(target));
  const std::unique_ptr<CURL, void (*)(CURL*)> curl(curl_easy_init(), curl_easy_cleanup);
  check(curl != nullptr, ErrorCode::other, "cannot start an HTTP client");
  const std::string url = tcp ? "http://" + target.substr(4) : target;
  curl_easy_setopt(curl.get(), CURLOPT_URL, url.c_str());
  curl_easy_setopt(curl.get(), CURLOPT_CONNECT_ONLY, tcp ? 1L : 0L);
  curl_easy_setopt(curl.get(), CURLOPT_TIMEOUT_MS, kPatience);
  curl_easy_setopt(curl.get(), CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl.get(), CURLOPT_PROXY, "");
  curl_easy_setopt(curl.get(), CURLOPT_FAILONERROR, 1L);
  curl_easy_setopt(curl.get(), CURLOPT_WRITEFUNCTION, ignore_body);
  long code = 0;
  if (curl_easy_perform(curl.get()) != CURLE_OK) return false;
  curl_easy_getinfo(curl.get(), CURLINFO_RESPONSE_CODE, &code);
  return tcp || (code >= 200 && code < 300);
}

}  // namespace lockring::app::workflow
