#include "apps/balance/forwarding.h"

#include <algorithm>
#include <charconv>

namespace lockring::app::balance {
namespace {

using http::same_name;

constexpr std::string_view kHopByHop[] = {"Connection",
                                          "Keep-Alive",
                                          "Proxy-Connection",
                                          "Proxy-Authenticate",
                                          "Proxy-Authorization",
                                          "TE",
                                          "Trailer",
                                          "Transfer-Encoding",
                                          "Upgrade",
                                          "Expect"};

// Which the balancer sets itself.
constexpr std::string_view kOwnRequestFields[] = {
    "Host", "Content-Length", "x-request-id", "x-forwarded-for", "x-forwarded-proto", "x-request-timeout-ms"};
constexpr std::string_view kOwnResponseFields[] = {"Content-Length", "Date", "x-request-id"};

bool is_one_of(std::string_view name, std::span<const std::string_view> names) {
  return std::any_of(names.begin(), names.end(), [&](std::string_view known) { return same_name(name, known); });
}

void append(std::string& head, std::string_view name, std::string_view value) {
  head.append(name).append(": ").append(value).append("\r\n");
}

}  // namespace

bool is_hop_by_hop(std::string_view name, std::string_view connection) {
  if (is_one_of(name, kHopByHop)) return true;
  while (!connection.empty()) {
    const std::size_t end = std::min(connection.find(','), connection.size());
    std::string_view word = connection.substr(0, end);
    connection.remove_prefix(std::min(end + 1, connection.size()));
    word.remove_prefix(std::min(word.find_first_not_of(" \t"), word.size()));
    word = word.substr(0, word.find_last_not_of(" \t") + 1);
    if (same_name(word, name)) return true;
  }
  return false;
}

std::string forwarded_head(const http::Request& request, std::string_view host, bool tls,
                           std::chrono::milliseconds left) {
  std::string head;
  head.reserve(request.head.size() + 256);
  head.append(request.method).append(" ").append(request.target).append(" HTTP/1.1\r\n");
  append(head, "Host", request.has_header("Host") ? request.header("Host") : host);
  const std::string_view connection = request.header("Connection");
  for (const http::Field& field : request.fields) {
    if (!is_hop_by_hop(field.name, connection) && !is_one_of(field.name, kOwnRequestFields))
      append(head, field.name, field.value);
  }
  const bool has_body = !request.body.empty() || request.has_header("Content-Length");
  if (has_body) append(head, "Content-Length", std::to_string(request.body.size()));
  std::string chain;
  for (const http::Field& field : request.fields) {
    if (same_name(field.name, "x-forwarded-for")) chain.append(field.value).append(", ");
  }
  append(head, "x-forwarded-for", chain + request.peer);
  append(head, "x-forwarded-proto", tls ? "https" : "http");
  append(head, "x-request-id", request.id);
  append(head, "x-request-timeout-ms", std::to_string(std::max<std::int64_t>(left.count(), 0)));
  return head += "\r\n";
}

http::Response forwarded_response(http::Received& received) {
  http::Response response;
  response.status = received.status;
  response.content_type.clear();
  const std::string connection(received.header("Connection"));
  for (http::Header& field : received.fields) {
    if (!is_hop_by_hop(field.name, connection) && !is_one_of(field.name, kOwnResponseFields))
      response.headers.push_back(std::move(field));
  }
  const auto body = std::make_shared<http::Body>(std::move(received.body));
  response.body.emplace_back(body, body->bytes());
  return response;
}

std::chrono::milliseconds patience_of(const http::Request& request, std::chrono::milliseconds most) {
  const std::string_view text = request.header("x-request-timeout-ms");
  std::int64_t given = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), given);
  const bool sane = error == std::errc() && end == text.data() + text.size() && given > 0;
  return sane ? std::min(most, std::chrono::milliseconds(given)) : most;
}

}  // namespace lockring::app::balance
