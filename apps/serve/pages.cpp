#include "apps/serve/pages.h"

#include "apps/serve/embedded.h"

#include <algorithm>

namespace lockring::app::serve {
namespace {

const char* type_of(std::string_view name) {
  if (name.ends_with(".html")) return "text/html; charset=utf-8";
  if (name.ends_with(".css")) return "text/css; charset=utf-8";
  if (name.ends_with(".js")) return "text/javascript; charset=utf-8";
  return "image/svg+xml";
}

}  // namespace

std::optional<http::Response> page_at(std::string_view path) {
  std::string_view name = path.substr(std::min<std::size_t>(1, path.size()));
  if (name.empty()) name = "index.html";
  if (name == "docs") name = "docs.html";
  if (name == "run") name = "run.html";
  const auto found = std::ranges::find(embedded_files(), name, &EmbeddedFile::name);
  if (found == embedded_files().end()) return std::nullopt;
  http::Response response{.status = 200, .content_type = type_of(name), .headers = {}, .body = {}};
  // Nothing is loaded from elsewhere, nothing may frame the page, and what is served can change with the program.
  response.headers.push_back(
      {"Content-Security-Policy",
       "default-src 'self'; img-src 'self' data: blob:; frame-ancestors 'none'; base-uri 'none'"});
  response.headers.push_back({"X-Content-Type-Options", "nosniff"});
  response.headers.push_back({"Cache-Control", "no-cache"});
  response.body.push_back(http::Buffer::constant(found->content));
  return response;
}

}  // namespace lockring::app::serve
