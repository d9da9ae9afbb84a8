// Ctrl-C and SIGTERM as a request that commands look at between steps.
#pragma once

namespace lockring::app {

// From here to the end of the process the first signal of each kind only asks, even if nothing is left to stop but the
// leaving itself; a second of the same kind ends the process as usual. May be called again.
void catch_stop_signals();

// The number of the signal that asked, or 0.
int stop_signal();

}  // namespace lockring::app
