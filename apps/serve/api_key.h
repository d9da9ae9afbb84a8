// Who may ask: whoever knows the key.
#pragma once

#include "apps/http/message.h"

#include <functional>
#include <optional>
#include <string>

namespace lockring::app::serve {

// For http::ServerOptions::admit: refuses requests without the key that the file holds, as `X-API-Key: KEY` or
// `Authorization: Bearer KEY`, by 401 if there is none and 403 if it is another. Health and the page's own files are
// open to all. Throws Error{data} if the file cannot be read or is empty.
std::function<std::optional<http::Response>(const http::Request&)> key_check(const std::string& file);

}  // namespace lockring::app::serve
