#include "apps/cluster/launch_command.h"

#include "core/error.h"
#include "core/files.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <sstream>

namespace lockring::app {
namespace {

std::optional<int> whole_number(std::string_view text) {
  int number = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && rest == text.data() + text.size() && number > 0 ? std::optional(number) : std::nullopt;
}

bool is_address(std::string_view name) {
  return name.find_first_not_of("0123456789.") == std::string_view::npos || name.find(':') != std::string_view::npos;
}

std::string_view first_label(std::string_view name) { return name.substr(0, name.find('.')); }

// The word "train" right behind a program named lockring.
std::size_t place_of_train(const std::vector<std::string>& words) {
  for (std::size_t i = 1; i < words.size(); ++i)
    if (words[i] == "train" && std::filesystem::path(words[i - 1]).filename().string().starts_with("lockring"))
      return i;
  return 0;
}

}  // namespace

std::vector<LaunchHost> parse_host_list(std::string_view text) {
  std::vector<LaunchHost> hosts;
  std::istringstream parts{std::string(text)};
  for (std::string part; std::getline(parts, part, ',');) {
    const std::size_t colon = part.rfind(':');
    const bool has_slots = colon != std::string::npos && whole_number(part.substr(colon + 1));
    const std::string name = has_slots ? part.substr(0, colon) : part;
    if (name.empty()) continue;
    const int slots = has_slots ? *whole_number(part.substr(colon + 1)) : 1;
    const auto known = std::ranges::find(hosts, name, &LaunchHost::name);
    if (known == hosts.end())
      hosts.push_back({name, slots, ""});
    else
      known->slots = known->slots.value_or(0) + slots;
  }
  return hosts;
}

std::vector<LaunchHost> parse_hostfile(std::string_view text) {
  std::vector<LaunchHost> hosts;
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line.substr(0, line.find('#')));
    LaunchHost host;
    if (!(words >> host.name)) continue;
    for (std::string word; words >> word;) {
      constexpr std::string_view kSlots = "slots=";
      if (word.starts_with(kSlots))
        host.slots = whole_number(word.substr(kSlots.size()));
      else
        host.rest += " " + word;
    }
    hosts.push_back(host);
  }
  return hosts;
}

std::string host_list_text(const std::vector<LaunchHost>& hosts) {
  std::string text;
  for (const LaunchHost& host : hosts)
    text += fmt::format("{}{}:{}", text.empty() ? "" : ",", host.name, host.slots.value_or(1));
  return text;
}

std::string hostfile_text(const std::vector<LaunchHost>& hosts) {
  std::string text;
  for (const LaunchHost& host : hosts)
    text += host.name + (host.slots ? fmt::format(" slots={}", *host.slots) : "") + host.rest + "\n";
  return text;
}

bool same_host(std::string_view one, std::string_view other) {
  if (one == other) return true;
  if (is_address(one) || is_address(other)) return false;
  const bool short_form = one.find('.') == std::string_view::npos || other.find('.') == std::string_view::npos;
  return short_form && first_label(one) == first_label(other);
}

LaunchCommand::LaunchCommand(std::vector<std::string> words)
    : words_(std::move(words)), train_(place_of_train(words_)) {
  check(!words_.empty(), "expected a command, as in: lockring launch --restarts 3 -- mpirun -np 4 lockring train ...");
  if (const std::size_t list = value_of({"--host", "-host", "-H"}); list > 0) {
    hosts_ = parse_host_list(words_[list]);
  } else if (const std::size_t file = value_of({"--hostfile", "-hostfile", "--machinefile", "-machinefile"});
             file > 0) {
    hosts_ = parse_hostfile(read_file(words_[file]));
    from_file_ = true;
  }
  all_hosts_ = hosts_;
}

std::size_t LaunchCommand::value_of(const std::vector<std::string_view>& names) const {
  const std::size_t end = train_ > 0 ? train_ - 1 : words_.size();
  for (std::size_t i = 1; i + 1 < end; ++i)
    if (std::ranges::count(names, words_[i]) > 0) return i + 1;
  return 0;
}

bool LaunchCommand::drop_host(std::string_view name) {
  const auto found = std::ranges::find_if(hosts_, [&](const LaunchHost& host) { return same_host(host.name, name); });
  if (found == hosts_.end() || hosts_.size() == 1) return false;
  hosts_.erase(found);
  return true;
}

std::string LaunchCommand::train_option(std::string_view name) const {
  for (std::size_t i = train_ + 1; trains() && i < words_.size(); ++i) {
    if (words_[i] == name && i + 1 < words_.size()) return words_[i + 1];
    if (words_[i].starts_with(std::string(name) + "=")) return words_[i].substr(name.size() + 1);
  }
  return "";
}

std::filesystem::path LaunchCommand::run_directory() const {
  const std::string given = train_option("--run-dir");
  if (!trains() || !given.empty()) return given;
  const char* variable = std::getenv("LOCKRING_RUN_DIR");
  return variable == nullptr ? "" : variable;
}

// In proportion where the slots of some host are not stated; so many that they divide the shards.
int LaunchCommand::ranks_left(int asked) const {
  int slots = 0;
  for (const LaunchHost& host : hosts_) slots += host.slots.value_or(0);
  const bool stated = std::ranges::all_of(hosts_, [](const LaunchHost& host) { return host.slots.has_value(); });
  if (!stated) slots = asked * static_cast<int>(hosts_.size()) / static_cast<int>(all_hosts_.size());
  int ranks = std::clamp(slots, 1, asked);
  if (const std::optional<int> shards = whole_number(train_option("--shards")))
    while (*shards % ranks != 0) --ranks;
  return ranks;
}

std::vector<std::string> LaunchCommand::words(bool resume, const std::filesystem::path& hostfile) const {
  std::vector<std::string> words = words_;
  if (hosts_.size() < all_hosts_.size()) {
    const std::size_t list = from_file_ ? value_of({"--hostfile", "-hostfile", "--machinefile", "-machinefile"})
                                        : value_of({"--host", "-host", "-H"});
    words[list] = from_file_ ? hostfile.string() : host_list_text(hosts_);
    const std::size_t ranks = value_of({"-np", "--np", "-n", "--n", "-c"});
    if (ranks > 0 && whole_number(words[ranks]))
      words[ranks] = fmt::format("{}", ranks_left(*whole_number(words[ranks])));
  }
  const bool resumes =
      std::ranges::count(words.begin() + static_cast<std::ptrdiff_t>(train_), words.end(), "--resume") > 0;
  const auto behind_train = [&] { return words.begin() + static_cast<std::ptrdiff_t>(train_) + 1; };
  if (resume && trains() && train_option("--shards").empty() && hosts_.size() < all_hosts_.size())
    words.insert(behind_train(), "--reshard");
  if (resume && trains() && !resumes) words.insert(behind_train(), "--resume");
  return words;
}

}  // namespace lockring::app
