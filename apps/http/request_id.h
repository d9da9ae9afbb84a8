// Names of requests, for logs that are to be joined.
#pragma once

#include <string>
#include <string_view>

namespace lockring::app::http {

// `given` if it is 1 to 128 of letters, digits and "-_.:/+=", so that it can do no harm in a log; else 16 hex digits
// that no other request gets. Any thread.
std::string request_id(std::string_view given);

}  // namespace lockring::app::http
