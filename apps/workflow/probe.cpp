#include "apps/workflow/probe.h"

#include "core/error.h"
#include "core/text.h"

#include <curl/curl.h>

#include <memory>

namespace lockring::app::workflow {
namespace {

constexpr long kPatience = 300;         // milliseconds, for an answer
constexpr long kLongPatience = 120000;  // until a model is loaded

using Curl = std::unique_ptr<CURL, void (*)(CURL*)>;

std::size_t keep_body(char* bytes, std::size_t size, std::size_t count, void* body) {
  static_cast<std::string*>(body)->append(bytes, size * count);
  return size * count;
}

Curl open(const std::string& url, long patience, std::string& body) {
  Curl curl(curl_easy_init(), curl_easy_cleanup);
  check(curl != nullptr, ErrorCode::other, "cannot start an HTTP client");
  curl_easy_setopt(curl.get(), CURLOPT_URL, url.c_str());
  curl_easy_setopt(curl.get(), CURLOPT_TIMEOUT_MS, patience);
  curl_easy_setopt(curl.get(), CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl.get(), CURLOPT_PROXY, "");
  curl_easy_setopt(curl.get(), CURLOPT_WRITEFUNCTION, keep_body);
  curl_easy_setopt(curl.get(), CURLOPT_WRITEDATA, &body);
  return curl;
}

long code_of(const Curl& curl) {
  long code = 0;
  curl_easy_getinfo(curl.get(), CURLINFO_RESPONSE_CODE, &code);
  return code;
}

bool is_good(long code) { return code >= 200 && code < 300; }

}  // namespace

bool answers(const std::string& target) {
  if (target.empty()) return true;
  const bool tcp = target.starts_with("tcp:");
  check(tcp || target.starts_with("http://") || target.starts_with("https://"), ErrorCode::data,
        "ready: expected http://..., https://... or tcp:HOST:PORT, found '{}'", printable(target));
  std::string body;
  const Curl curl = open(tcp ? "http://" + target.substr(4) : target, kPatience, body);
  curl_easy_setopt(curl.get(), CURLOPT_CONNECT_ONLY, tcp ? 1L : 0L);
  return curl_easy_perform(curl.get()) == CURLE_OK && (tcp || is_good(code_of(curl)));
}

void post(const std::string& url) {
  std::string body;
  const Curl curl = open(url, kLongPatience, body);
  curl_easy_setopt(curl.get(), CURLOPT_POSTFIELDS, "{}");
  const std::unique_ptr<curl_slist, void (*)(curl_slist*)> headers(
      curl_slist_append(nullptr, "Content-Type: application/json"), curl_slist_free_all);
  curl_easy_setopt(curl.get(), CURLOPT_HTTPHEADER, headers.get());
  const CURLcode result = curl_easy_perform(curl.get());
  check(result == CURLE_OK, ErrorCode::device, "POST {}: {}", url, curl_easy_strerror(result));
  check(is_good(code_of(curl)), ErrorCode::device, "POST {}: {} {}", url, code_of(curl), printable(body));
}

}  // namespace lockring::app::workflow
