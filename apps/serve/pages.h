// The page to try models on, and the page about the protocol: plain files, carried in the program.
#pragma once

#include "apps/http/message.h"

#include <optional>
#include <string_view>

namespace lockring::app::serve {

// "/", "/docs", "/run", or the name of a file of apps/web; nothing for other paths.
std::optional<http::Response> page_at(std::string_view path);

}  // namespace lockring::app::serve
