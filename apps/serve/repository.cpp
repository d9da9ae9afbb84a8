#include "apps/serve/repository.h"

#include "apps/select/selection.h"
#include "core/error.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

namespace lockring::app::serve {

Repository::Repository(const EndpointOptions& options, std::filesystem::path folder)
    : options_(options), folder_(std::move(folder)) {}

Repository::~Repository() { stop(); }

void Repository::stop() {
  const std::scoped_lock changes(changes_);
  for (Entry& entry : entries_)
    if (entry.endpoint != nullptr) entry.endpoint->stop();
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
  entries_.push_back({.name = name, .locate = {}, .servable = {}, .endpoint = {}, .failed = {}, .reason = ""});
  return entries_.back();
}

void Repository::add_bundle(const std::string& name, std::function<BundleFile()> locate) {
  const std::scoped_lock changes(changes_);
  check(is_model_name(name), "'{}' is no name for a model; expected letters, digits, '.', '_' and '-'", name);
  {
    const std::scoped_lock lock(mutex_);
    check(find_entry(name) == nullptr, "there are two models called '{}'", name);
    entry_of(name).locate = locate;
  }
  load_bundle(name, locate, 1);
}

void Repository::add_folder() {
  const std::scoped_lock changes(changes_);
  for (const std::string& name : models_in(folder_)) {
    {
      const std::scoped_lock lock(mutex_);
      check(find_entry(name) == nullptr, "there are two models called '{}'", name);
    }
    load_from_folder(name);
  }
}

void Repository::add(std::shared_ptr<Servable> servable) {
  const std::scoped_lock lock(mutex_);
  const std::string& name = servable->description().name;
  check(is_model_name(name), "'{}' is no name for a model; expected letters, digits, '.', '_' and '-'", name);
  check(find_entry(name) == nullptr, "there are two models called '{}'", name);
  entry_of(name).servable = std::move(servable);
}

std::shared_ptr<Servable> Repository::find(const std::string& name, const std::string& version) const {
  const std::scoped_lock lock(mutex_);
  const Entry* entry = find_entry(name);
  if (entry == nullptr || entry->servable == nullptr) return nullptr;
  return version.empty() || entry->servable->description().version == version ? entry->servable : nullptr;
}

std::vector<std::shared_ptr<Servable>> Repository::all() const {
  const std::scoped_lock lock(mutex_);
  std::vector<std::shared_ptr<Servable>> all;
  for (const Entry& entry : entries_)
    if (entry.servable != nullptr) all.push_back(entry.servable);
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
  std::function<BundleFile()> locate;
  std::int64_t version = 0;
  {
    const std::scoped_lock lock(mutex_);
    if (Entry* entry = find_entry(name)) {
      check(entry->servable == nullptr || entry->endpoint != nullptr, "'{}' is made of others; load those", name);
      locate = entry->locate;
      version = entry->loads + 1;
    }
  }
  if (locate) return load_bundle(name, locate, version);
  load_from_folder(name);
}

void Repository::unload(const std::string& name) {
  const std::scoped_lock changes(changes_);
  std::shared_ptr<Endpoint> old;
  {
    const std::scoped_lock lock(mutex_);
    Entry* entry = find_entry(name);
    check(entry != nullptr, "there is no model '{}' to unload", name);
    check(entry->servable == nullptr || entry->endpoint != nullptr, "'{}' is made of others; unload those", name);
    old = std::exchange(entry->endpoint, nullptr);
    entry->servable = nullptr;
    entry->failed.clear();
    entry->reason = "unloaded";
  }
  retire(std::move(old));
}

void Repository::load_bundle(const std::string& name, const std::function<BundleFile()>& locate, std::int64_t version) {
  const std::string text = std::to_string(version);
  try {
    const BundleFile bundle = locate();
    publish(name, Endpoint::start(name, text, Model::load(bundle.path, bundle.digest), options_), {});
  } catch (const Error& error) {
    note_failure(name, {{name, text, "UNAVAILABLE", error.what()}});
    throw;
  }
  const std::scoped_lock lock(mutex_);
  entry_of(name).loads = version;
}

// Down to the version that is served already.
void Repository::load_from_folder(const std::string& name) {
  std::string current;
  if (const auto servable = find(name)) current = servable->description().version;
  std::vector<IndexRow> failed;
  for (const std::int64_t version : versions_of(folder_, name)) {
    const std::string text = std::to_string(version);
    if (text == current && !failed.empty()) break;
    try {
      const BundleFile bundle = bundle_of(folder_, name, version);
      publish(name, Endpoint::start(name, text, Model::load(bundle.path, bundle.digest), options_), failed);
      if (failed.empty() || current.empty()) return;
      break;
    } catch (const Error& error) {
      failed.push_back({name, text, "UNAVAILABLE", error.what()});
    }
  }
  check(!failed.empty(), ErrorCode::data, "model '{}' has no versions", name);
  note_failure(name, failed);
  fail(ErrorCode::data, "model '{}' cannot be served in version {}: {}", name, failed.front().version,
       failed.front().reason);
}

void Repository::publish(const std::string& name, std::shared_ptr<Endpoint> endpoint, std::vector<IndexRow> failed) {
  std::shared_ptr<Endpoint> old;
  {
    const std::scoped_lock lock(mutex_);
    Entry& entry = entry_of(name);
    old = std::exchange(entry.endpoint, endpoint);
    entry.servable = std::move(endpoint);
    entry.failed = std::move(failed);
    entry.reason.clear();
  }
  retire(std::move(old));
}

void Repository::note_failure(const std::string& name, std::vector<IndexRow> failed) {
  const std::scoped_lock lock(mutex_);
  Entry& entry = entry_of(name);
  entry.failed = std::move(failed);
}

// Those who found it before it was replaced may still be about to ask it; they do so at once.
void Repository::retire(std::shared_ptr<Endpoint> endpoint) {
  if (endpoint == nullptr) return;
  const auto patience = Clock::now() + std::chrono::seconds(5);
  while (endpoint.use_count() > 1 && Clock::now() < patience) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  endpoint->stop();
}

std::vector<IndexRow> Repository::index() const {
  const std::scoped_lock lock(mutex_);
  std::vector<IndexRow> rows;
  for (const Entry& entry : entries_) {
    if (entry.servable != nullptr) rows.push_back({entry.name, entry.servable->description().version, "READY", ""});
    rows.insert(rows.end(), entry.failed.begin(), entry.failed.end());
    if (entry.servable == nullptr && entry.failed.empty())
      rows.push_back({entry.name, "", "UNAVAILABLE", entry.reason});
  }
  return rows;
}

}  // namespace lockring::app::serve
