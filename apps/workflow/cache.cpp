#include "apps/workflow/cache.h"

#include "apps/terminal.h"
#include "apps/workflow/scope.h"
#include "core/error.h"
#include "core/files.h"
#include "data/file_lock.h"

#include <fcntl.h>
#include <fmt/chrono.h>
#include <sys/stat.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <ctime>

namespace lockring::app::workflow {
namespace fs = std::filesystem;
namespace {

std::string to_text(const CacheEntry& entry) {
  nlohmann::ordered_json parts = nlohmann::ordered_json::object();
  for (const auto& [name, value] : entry.key.parts) parts[name] = value;
  const nlohmann::ordered_json json = {
      {"key", entry.key.digest},
      {"workflow", entry.workflow},
      {"step", entry.step},
      {"updated", entry.updated},
      {"updated_utc", fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(static_cast<std::time_t>(entry.updated)))},
      {"parts", parts},
      {"outputs", nlohmann::ordered_json::parse(outputs_json(entry.outputs))}};
  return json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

std::optional<CacheEntry> parse_entry(const std::string& text) {
  try {
    const nlohmann::json json = nlohmann::json::parse(text);
    CacheEntry entry;
    entry.key.digest = json.at("key").get<std::string>();
    for (const auto& [name, value] : json.at("parts").items())
      entry.key.parts.emplace_back(name, value.get<std::string>());
    entry.workflow = json.at("workflow").get<std::string>();
    entry.step = json.at("step").get<std::string>();
    entry.updated = json.at("updated").get<std::int64_t>();
    entry.outputs = parse_outputs(json.at("outputs").dump());
    return entry;
  } catch (const nlohmann::json::exception&) {
    return std::nullopt;
  } catch (const Error&) {
    return std::nullopt;
  }
}

// For the age that `gc` goes by.
void note_use(const fs::path& file) { utimensat(AT_FDCWD, file.c_str(), nullptr, 0); }

std::string stale(const StepSpec& step, std::int64_t updated, std::int64_t now) {
  const auto age = static_cast<double>(now - updated);
  if (age < 0) return fmt::format("its entry is dated {} in the future", duration_text(-age));
  if (step.memoize.max_age && age > *step.memoize.max_age)
    return fmt::format("its entry is {} old, and may be {}", duration_text(age), duration_text(*step.memoize.max_age));
  return "";
}

}  // namespace

Cache::Answer Cache::find(const std::string& workflow, const StepSpec& step, const StepKey& key,
                          std::int64_t now) const {
  const fs::path file = file_of(key.digest);
  std::error_code ignored;
  if (!fs::exists(file, ignored)) return {std::nullopt, explain(workflow, step, key)};
  std::optional<CacheEntry> entry = parse_entry(read_file(file));
  if (!entry || entry->key.digest != key.digest)
    return {std::nullopt, fmt::format("its entry {} is damaged", file.string())};
  if (std::string reason = stale(step, entry->updated, now); !reason.empty()) return {std::nullopt, reason};
  if (std::string reason = find_change(step, entry->outputs); !reason.empty()) return {std::nullopt, reason};
  note_use(file);
  return {std::move(entry), ""};
}

void Cache::store(const CacheEntry& entry) const { write_file(file_of(entry.key.digest), to_text(entry)); }

std::unique_ptr<data::FileLock> Cache::take(const StepKey& key) const {
  const fs::path file = state_.locks() / key.digest;
  const int made = open(file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  check(made >= 0, ErrorCode::data, "cannot write {}", file.string());
  close(made);
  return data::FileLock::take_if_free(file);
}

void Cache::release(const StepKey& key, std::unique_ptr<data::FileLock> lock) const {
  std::error_code ignored;
  if (lock) fs::remove(state_.locks() / key.digest, ignored);
}

std::vector<CacheEntry> Cache::list() const {
  std::vector<CacheEntry> entries;
  std::error_code ignored;
  for (const fs::directory_entry& file : fs::directory_iterator(state_.cache(), ignored)) {
    if (file.path().extension() != ".json") continue;
    try {
      if (std::optional<CacheEntry> entry = parse_entry(read_file(file.path()))) entries.push_back(std::move(*entry));
    } catch (const Error&) {  // removed meanwhile
    }
  }
  std::ranges::sort(entries, {}, &CacheEntry::updated);
  return entries;
}

std::string Cache::explain(const std::string& workflow, const StepSpec& step, const StepKey& key) const {
  const std::vector<CacheEntry> entries = list();
  const auto is_of_step = [&](const CacheEntry& entry) {
    return entry.workflow == workflow && entry.step == step.name;
  };
  const auto last = std::find_if(entries.rbegin(), entries.rend(), is_of_step);
  return last == entries.rend() ? "it has not run yet" : difference(last->key, key);
}

}  // namespace lockring::app::workflow
