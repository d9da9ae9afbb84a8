// Which hosts a job failed on, from what mpirun, ssh and the ranks say on stderr.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lockring::app {

struct HostFailure {
  std::string host;
  std::string reason;  // "rank 3 was ended by signal 9"

  bool operator==(const HostFailure&) const = default;
};

// Is given the lines in turn. A rank that only complains of another is no failure of its host.
class FailureScan {
 public:
  void line(std::string_view text);
  // Each host once, in the order in which they were first named.
  const std::vector<HostFailure>& failures() const { return failures_; }

 private:
  std::vector<HostFailure> failures_;
};

}  // namespace lockring::app
