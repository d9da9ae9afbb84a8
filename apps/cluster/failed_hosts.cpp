#include "apps/cluster/failed_hosts.h"

#include <fmt/format.h>

#include <algorithm>
#include <regex>

namespace lockring::app {
namespace {

struct Pattern {
  std::regex regex;
  int host;            // the group that holds it
  const char* reason;  // with a place for each other group
};

// Of Open MPI 4, which speaks under the name that it was started by, and OpenSSH.
const std::vector<Pattern>& patterns() {
  static const std::vector<Pattern> list{
      {std::regex(R"(\S+ noticed that process rank (\d+) with PID \d+ on node (\S+) exited on signal (\d+))"), 2,
       "rank {} was ended by signal {}"},
      {std::regex(R"(Remote daemon: \S+ on node (\S+))"), 1, "mpirun lost its daemon there"},
      {std::regex(R"(ssh: connect to host (\S+) port \d+: (.*))"), 1, "ssh: {}"},
      {std::regex(R"(ssh: Could not resolve hostname ([^:\s]+): (.*))"), 1, "ssh: {}"},
      {std::regex(R"(missing: rank (\d+) on ([^\s,;:]+))"), 2, "rank {} did not answer"},
  };
  return list;
}

}  // namespace

void FailureScan::line(std::string_view text) {
  constexpr std::size_t kLongest = 2000;  // regular expressions take stack for each character
  const std::string line(text.substr(0, kLongest));
  for (const Pattern& pattern : patterns()) {
    std::smatch match;
    if (!std::regex_search(line, match, pattern.regex)) continue;
    const std::string host = match[pattern.host];
    if (std::ranges::count(failures_, host, &HostFailure::host) > 0) continue;
    std::vector<std::string> others;
    for (int i = 1; i < static_cast<int>(match.size()); ++i)
      if (i != pattern.host) others.push_back(match[i]);
    others.resize(2);
    failures_.push_back({host, fmt::format(fmt::runtime(pattern.reason), others[0], others[1])});
  }
}

}  // namespace lockring::app
