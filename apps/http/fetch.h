// One request, and wait for its response: for what is asked once.
#pragma once

#include "apps/http/response_parser.h"
#include "apps/http/url.h"

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace lockring::app::http {

class TlsContext;
struct Destination;

// Finds the host. `tls` is used for https. Throws Error{device} if there is no such host, or none of its addresses
// takes a connection within `patience`; the message has the reason.
Destination find_server(const Url& url, std::shared_ptr<TlsContext> tls, std::chrono::milliseconds patience);

// GET `target` of that server. Throws Error{device} if there is no answer.
Received fetch(const Destination& destination, const Url& url, const std::string& target,
               const std::vector<Header>& headers, std::chrono::milliseconds patience);
// The same for POST of a body.
Received post(const Destination& destination, const Url& url, const std::string& target,
              const std::vector<Header>& headers, std::string_view body, std::chrono::milliseconds patience);

}  // namespace lockring::app::http
