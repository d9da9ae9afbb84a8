// Ctrl-C and SIGTERM as a request that training looks at between steps.
#pragma once

namespace lockring::app {

// While it lives the first signal only asks; a second one ends the process as usual. One at a time.
class StopSignal {
 public:
  StopSignal();
  ~StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;

  // The signal's number, or 0.
  static int received();
};

}  // namespace lockring::app
