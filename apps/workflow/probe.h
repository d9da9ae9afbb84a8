// What the engine asks of servers.
#pragma once

#include <string>

namespace lockring::app::workflow {

// "http://..." or "https://...": a GET gives 200 to 299; "tcp:HOST:PORT": takes connections; "": always. Waits for an
// answer at most a fraction of a second. Throws Error{data} for anything else.
bool answers(const std::string& target);

// POSTs an empty JSON object. Throws Error{device} with the answer unless it is of 200 to 299.
void post(const std::string& url);

}  // namespace lockring::app::workflow
