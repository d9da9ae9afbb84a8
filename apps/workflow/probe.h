// Whether a server answers.
#pragma once

#include <string>

namespace lockring::app::workflow {

// "http://..." or "https://...": a GET gives 200 to 299; "tcp:HOST:PORT": takes connections; "": always. Waits for an
// answer at most a fraction of a second. Throws Error{data} for anything else.
bool answers(const std::string& target);

}  // namespace lockring::app::workflow
