// The balancer's own /metrics, in Prometheus's text format.
#pragma once

#include "apps/balance/proxy.h"

#include <string>

namespace lockring::app::balance {

std::string metrics_text(const Proxy& proxy, const http::Counters& server);

}  // namespace lockring::app::balance
