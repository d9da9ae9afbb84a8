// What a repository takes from its folder.
#include "apps/serve/repository.h"
#include "core/error.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

namespace lockring::app::serve {

void Repository::add_folder() {
  const std::scoped_lock changes(changes_);
  for (const std::string& name : models_in(folder_)) {
    {
      const std::scoped_lock lock(mutex_);
      check(find_entry(name) == nullptr, "there are two models called '{}'", name);
    }
    const Failures failures = load_folder(name, true);
    check(find(name) != nullptr, ErrorCode::data, "model '{}' cannot be served in version {}: {}", name,
          failures.front().number, failures.front().reason);
  }
}

// Unless `anew`, what is served stays as it is and what failed is not tried again, as long as the files are the same.
Repository::Failures Repository::load_folder(const std::string& name, bool anew) {
  const Entry before = copy_of(name);
  const VersionPolicy& policy = policies_.of(name);
  const std::vector<std::int64_t> wanted = policy.candidates(versions_of(folder_, name));
  check(!anew || !wanted.empty(), ErrorCode::data, "model '{}' has no versions that are to be served", name);
  Versions served;
  Failures failures;
  for (const std::int64_t number : wanted) {
    if (std::ssize(served) == policy.most) break;
    const auto old = std::ranges::find(before.versions, number, &Version::number);
    const bool is_served = old != before.versions.end();
    std::string stamp;
    try {
      stamp = stamp_of(folder_, name, number);
      if (is_served && !anew && old->stamp == stamp) {
        served.push_back(*old);
        continue;
      }
      const auto failed = std::ranges::find(before.failures, number, &Failure::number);
      if (!anew && failed != before.failures.end() && failed->stamp == stamp)
        fail(ErrorCode::data, "{}", failed->reason);
      served.push_back({number, stamp, start(name, number, bundle_of(folder_, name, number))});
    } catch (const Error& error) {
      failures.push_back({number, stamp, error.what()});
      if (is_served) served.push_back(*old);
    }
  }
  // What is served must not go because its successor cannot be.
  if (served.empty() && !failures.empty() && !before.versions.empty()) served.push_back(before.versions.front());
  publish(name, std::move(served), failures);
  return failures;
}

void Repository::poll() {
  const std::scoped_lock changes(changes_);
  const std::vector<std::string> there = models_in(folder_);
  std::set<std::string> names(there.begin(), there.end());
  {
    const std::scoped_lock lock(mutex_);
    for (const Entry& entry : entries_) names.insert(entry.name);
  }
  std::optional<Error> wrong;  // with one model is not the others' fault
  for (const std::string& name : names) {
    const Entry before = copy_of(name);
    if (before.made != nullptr || before.locate || before.reason == "unloaded") continue;
    try {
      load_folder(name, false);
      forget_if_gone(name);
    } catch (const Error& error) {
      wrong = error;
    }
  }
  if (wrong) throw Error(*wrong);
}

void Repository::forget_if_gone(const std::string& name) {
  const std::scoped_lock lock(mutex_);
  std::erase_if(entries_, [&](const Entry& entry) {
    return entry.name == name && entry.versions.empty() && entry.failures.empty();
  });
}

}  // namespace lockring::app::serve
