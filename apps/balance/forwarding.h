// What a proxy changes in a request and in a response on their way (RFC 9110, section 7.6).
#pragma once

#include "apps/http/message.h"
#include "apps/http/response_parser.h"

#include <chrono>
#include <string>
#include <string_view>

namespace lockring::app::balance {

// The head of `request` as the backend gets it: without the fields that are the connection's own, with its body's
// length, x-request-id, x-forwarded-for, x-forwarded-proto, and what is left of its time in x-request-timeout-ms.
std::string forwarded_head(const http::Request& request, std::string_view host, bool tls,
                           std::chrono::milliseconds left);

// A backend's response as the client gets it: likewise. The body is moved out.
http::Response forwarded_response(http::Received& received);

// Milliseconds in the request's x-request-timeout-ms if it has a sane one and it is less than `most`; else `most`.
std::chrono::milliseconds patience_of(const http::Request& request, std::chrono::milliseconds most);

// Fields of one connection, not of the message: those that RFC 9110 names, and those that `connection`, the value of
// the Connection field, lists.
bool is_hop_by_hop(std::string_view name, std::string_view connection);

}  // namespace lockring::app::balance
