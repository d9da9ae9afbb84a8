#include "apps/serve/repository.h"

#include "apps/select/selection.h"
#include "core/error.h"

#include <algorithm>
#include <utility>

namespace lockring::app::serve {

Repository::Repository(const EndpointOptions& options, std::filesystem::path folder, VersionPolicies policies)
    : options_(options), folder_(std::move(folder)), policies_(std::move(policies)) {}

Repository::~Repository() { stop(); }

void Repository::stop() {
  const std::scoped_lock changes(changes_);
  for (const Entry& entry : entries_)
    for (const Version& version : entry.versions) version.endpoint->stop();
  retirement_.stop();
}

std::shared_ptr<Servable> Repository::Entry::current() const {
  return versions.empty() ? made : versions.front().endpoint;
}

const Repository::Entry* Repository::find_entry(const std::string& name) const {
  const auto found = std::ranges::find(entries_, name, &Entry::name);
  return found == entries_.end() ? nullptr : &*found;
}

Repository::Entry* Repository::find_entry(const std::string& name) {
  return const_cast<Entry*>(std::as_const(*this).find_entry(name));
}

Repository::Entry& Repository::entry_of(const std::string& name) {
  if (Entry* entry = find_entry(name)) return *entry;
  entries_.push_back({});
  entries_.back().name = name;
  return entries_.back();
}

Repository::Entry Repository::copy_of(const std::string& name) const {
  const std::scoped_lock lock(mutex_);
  const Entry* entry = find_entry(name);
  return entry == nullptr ? Entry{} : *entry;
}

void Repository::add_bundle(const std::string& name, std::function<BundleFile()> locate) {
  const std::scoped_lock changes(changes_);
  check(is_model_name(name), "'{}' is no name for a model; expected letters, digits, '.', '_' and '-'", name);
  {
    const std::scoped_lock lock(mutex_);
    check(find_entry(name) == nullptr, "there are two models called '{}'", name);
    entry_of(name).locate = locate;
  }
  load_bundle(name, locate);
}

void Repository::add(std::shared_ptr<Servable> servable) {
  const std::scoped_lock lock(mutex_);
  const std::string& name = servable->description().name;
  check(is_model_name(name), "'{}' is no name for a model; expected letters, digits, '.', '_' and '-'", name);
  check(find_entry(name) == nullptr, "there are two models called '{}'", name);
  entry_of(name).made = std::move(servable);
}

std::shared_ptr<Servable> Repository::find(const std::string& name, const std::string& version) const {
  const std::scoped_lock lock(mutex_);
  const Entry* entry = find_entry(name);
  if (entry == nullptr) return nullptr;
  if (version.empty()) return entry->current();
  if (entry->made != nullptr) return entry->made->description().version == version ? entry->made : nullptr;
  for (const Version& served : entry->versions)
    if (served.endpoint->description().version == version) return served.endpoint;
  return nullptr;
}

std::vector<std::shared_ptr<Servable>> Repository::all() const {
  const std::scoped_lock lock(mutex_);
  std::vector<std::shared_ptr<Servable>> all;
  for (const Entry& entry : entries_)
    if (auto servable = entry.current()) all.push_back(std::move(servable));
  return all;
}

std::vector<std::shared_ptr<Servable>> Repository::all_versions(const std::string& name) const {
  const std::scoped_lock lock(mutex_);
  std::vector<std::shared_ptr<Servable>> all;
  for (const Entry& entry : entries_) {
    if (!name.empty() && entry.name != name) continue;
    if (entry.made != nullptr) all.push_back(entry.made);
    for (const Version& version : entry.versions) all.push_back(version.endpoint);
  }
  return all;
}

bool Repository::knows(const std::string& name) const {
  if (!is_model_name(name)) return false;
  {
    const std::scoped_lock lock(mutex_);
    if (find_entry(name) != nullptr) return true;
  }
  return !folder_.empty() && !versions_of(folder_, name).empty();
}

void Repository::load(const std::string& name) {
  check(knows(name), "there is no model '{}' to load", name);
  const std::scoped_lock changes(changes_);
  const Entry before = copy_of(name);
  check(before.made == nullptr, "'{}' is made of others; load those", name);
  if (before.locate) return load_bundle(name, before.locate);
  const Failures failures = load_folder(name, true);
  if (failures.empty()) return;
  fail(ErrorCode::data, "model '{}' cannot be served in version {}: {}", name, failures.front().number,
       failures.front().reason);
}

void Repository::unload(const std::string& name) {
  const std::scoped_lock changes(changes_);
  {
    const std::scoped_lock lock(mutex_);
    const Entry* entry = find_entry(name);
    check(entry != nullptr, "there is no model '{}' to unload", name);
    check(entry->made == nullptr, "'{}' is made of others; unload those", name);
  }
  publish(name, {}, {});
  const std::scoped_lock lock(mutex_);
  entry_of(name).reason = "unloaded";
}

std::shared_ptr<Endpoint> Repository::start(const std::string& name, std::int64_t version,
                                            const BundleFile& bundle) const {
  return Endpoint::start(name, std::to_string(version), Model::load(bundle.path, bundle.digest, options_.devices),
                         options_);
}

// Its versions are how often it was loaded.
void Repository::load_bundle(const std::string& name, const std::function<BundleFile()>& locate) {
  const Entry before = copy_of(name);
  const std::int64_t number = before.loads + 1;
  try {
    publish(name, {{number, "", start(name, number, locate())}}, {});
  } catch (const Error& error) {
    publish(name, before.versions, {{number, "", error.what()}});
    throw;
  }
  const std::scoped_lock lock(mutex_);
  entry_of(name).loads = number;
}

void Repository::publish(const std::string& name, Versions versions, Failures failures) {
  Versions old;
  {
    const std::scoped_lock lock(mutex_);
    Entry& entry = entry_of(name);
    old = std::exchange(entry.versions, versions);
    entry.failures = std::move(failures);
    entry.reason.clear();
  }
  for (Version& version : old)
    if (std::ranges::find(versions, version.endpoint, &Version::endpoint) == versions.end())
      retirement_.add(std::move(version.endpoint));
}

std::vector<IndexRow> Repository::index() const {
  const std::scoped_lock lock(mutex_);
  std::vector<IndexRow> rows;
  for (const Entry& entry : entries_) {
    if (entry.made != nullptr) rows.push_back({entry.name, entry.made->description().version, "READY", ""});
    for (const Version& version : entry.versions)
      rows.push_back({entry.name, std::to_string(version.number), "READY", ""});
    for (const Failure& failure : entry.failures)
      rows.push_back({entry.name, std::to_string(failure.number), "UNAVAILABLE", failure.reason});
    if (entry.current() == nullptr && entry.failures.empty())
      rows.push_back({entry.name, "", "UNAVAILABLE", entry.reason});
  }
  return rows;
}

}  // namespace lockring::app::serve
