// The command that starts a job, as `lockring launch` reads and changes it: which hosts it names, and what of it is
// `lockring train`.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lockring::app {

struct LaunchHost {
  std::string name;
  std::optional<int> slots;  // as far as they are stated
  std::string rest;          // of its line in a hostfile: "max_slots=4"

  bool operator==(const LaunchHost&) const = default;
};

// "a:2,b", as mpirun --host takes it. A host that is named again has one more slot there.
std::vector<LaunchHost> parse_host_list(std::string_view text);
// Lines "a slots=2"; '#' starts a comment.
std::vector<LaunchHost> parse_hostfile(std::string_view text);
std::string host_list_text(const std::vector<LaunchHost>& hosts);
std::string hostfile_text(const std::vector<LaunchHost>& hosts);
// Whether both name one host: "node7" and "node7.cluster.example", but no parts of addresses.
bool same_host(std::string_view one, std::string_view other);

class LaunchCommand {
 public:
  // Reads the hostfile that the command names. Throws Error{usage} for no command, Error{data} for a hostfile that
  // cannot be read.
  explicit LaunchCommand(std::vector<std::string> words);

  // Empty where the command names none.
  const std::vector<LaunchHost>& hosts() const { return hosts_; }
  // False if it is not there, or is the last.
  bool drop_host(std::string_view name);

  // The --run-dir of its `lockring train`, which the variable LOCKRING_RUN_DIR also sets; empty if there is none.
  std::filesystem::path run_directory() const;
  bool trains() const { return train_ > 0; }

  // The words to start it with: on the hosts that are left, with as many ranks as these have slots for; going on from
  // the run's checkpoint if `resume`, with other parts of a batch where --shards does not say how many. `hostfile` is
  // where to put the list of hosts, if the command has a file of them.
  std::vector<std::string> words(bool resume, const std::filesystem::path& hostfile) const;

 private:
  // The place of the value of one of these options before the program's own arguments; 0 if none is there.
  std::size_t value_of(const std::vector<std::string_view>& names) const;
  int ranks_left(int asked) const;
  // Of `lockring train`; empty if it is not given.
  std::string train_option(std::string_view name) const;

  std::vector<std::string> words_;
  std::size_t train_ = 0;  // the place of the word "train" behind the program; 0 if it runs something else
  std::vector<LaunchHost> all_hosts_;
  std::vector<LaunchHost> hosts_;
  bool from_file_ = false;
};

}  // namespace lockring::app
