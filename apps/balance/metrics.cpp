#include "apps/balance/metrics.h"

namespace lockring::app::balance {
namespace {

void add_head(std::string& text, std::string_view name, std::string_view type, std::string_view help) {
  text += fmt::format("# HELP lockring_balance_{} {}\n# TYPE lockring_balance_{} {}\n", name, help, name, type);
}

void add(std::string& text, std::string_view name, std::string_view type, std::string_view help, std::int64_t value) {
  add_head(text, name, type, help);
  text += fmt::format("lockring_balance_{} {}\n", name, value);
}

// One line a backend; `value` is of a Backend.
template <class Value>
void add_each(std::string& text, const Backends& backends, std::string_view name, std::string_view type,
              std::string_view help, const Value& value) {
  add_head(text, name, type, help);
  for (const auto& backend : backends)
    text += fmt::format("lockring_balance_{}{{backend=\"{}\"}} {}\n", name, backend->name(), value(*backend));
}

void add_backends(std::string& text, const Backends& backends) {
  const auto now = Clock::now();
  add_each(text, backends, "backend_up", "gauge", "1 if it gets requests",
           [&](const Backend& backend) { return backend.is_up(now) ? 1 : 0; });
  add_each(text, backends, "backend_weight", "gauge", "its share, less while it starts slowly",
           [&](const Backend& backend) { return backend.weight(now); });
  add_each(text, backends, "backend_in_flight", "gauge", "requests it has not answered",
           [](const Backend& backend) { return backend.counts.in_flight.load(); });
  add_each(text, backends, "backend_requests_total", "counter", "requests sent to it, retries too",
           [](const Backend& backend) { return backend.counts.requests.load(); });
  add_each(text, backends, "backend_failures_total", "counter", "requests that it did not answer",
           [](const Backend& backend) { return backend.counts.failures.load(); });
  add_each(text, backends, "backend_failed_checks_total", "counter", "health checks that failed",
           [](const Backend& backend) { return backend.counts.failed_checks.load(); });
  add_each(text, backends, "backend_ejections_total", "counter", "times it was ejected for failing requests",
           [](const Backend& backend) { return backend.counts.ejections.load(); });
  add_head(text, "backend_responses_total", "counter", "its answers, by class of status");
  for (const auto& backend : backends) {
    for (int hundred = 2; hundred <= 5; ++hundred)
      text += fmt::format("lockring_balance_backend_responses_total{{backend=\"{}\",code=\"{}xx\"}} {}\n",
                          backend->name(), hundred, backend->counts.statuses[hundred].load());
  }
}

}  // namespace

std::string metrics_text(const Proxy& proxy, const http::Counters& server) {
  std::string text;
  Snapshot snapshot;
  take_snapshot(proxy.backends(), Clock::now(), snapshot);
  add(text, "backends_up", "gauge", "backends that get requests", snapshot.up);
  add(text, "panic", "gauge", "1 while so few backends are up that all are used", snapshot.panic ? 1 : 0);
  add_backends(text, proxy.backends());
  add(text, "retries_total", "counter", "requests that were tried once more", proxy.counts().retries);
  add(text, "retries_refused_total", "counter", "retries that the budget did not allow",
      proxy.counts().refused_retries);
  add(text, "unanswered_total", "counter", "requests that no backend answered", proxy.counts().unanswered);
  add(text, "requests_total", "counter", "requests of clients", server.requests);
  add(text, "requests_in_flight", "gauge", "requests of clients that are not answered", server.in_flight);
  add(text, "requests_malformed_total", "counter", "requests refused as malformed, too large or too slow", server.bad);
  add(text, "clients_gone_total", "counter", "clients that went before they were answered", server.gone);
  add(text, "connections_total", "counter", "connections of clients", server.accepted);
  add(text, "connections_open", "gauge", "connections of clients, now", server.open);
  add(text, "connections_refused_total", "counter", "connections refused for want of room", server.refused);
  add(text, "received_bytes_total", "counter", "bytes from clients", server.bytes_in);
  add(text, "sent_bytes_total", "counter", "bytes to clients", server.bytes_out);
  return text;
}

}  // namespace lockring::app::balance
