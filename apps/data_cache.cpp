// lockring data cache ls, clear and why: the images that are kept on disk as they come out of a transform's front.
#include "apps/command.h"
#include "apps/data_options.h"
#include "apps/option_values.h"
#include "apps/terminal.h"
#include "core/error.h"
#include "core/text.h"
#include "data/cache_entries.h"
#include "data/dataset_store.h"
#include "data/image_cache.h"
#include "data/split_plan.h"
#include "data/transform.h"

#include <fmt/chrono.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <ctime>
#include <memory>

namespace lockring::app {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

struct Options : DataOptions {
  CacheOptions cache;
  std::vector<std::string> keys;
  std::string older_than;
  std::string augment;
  bool json = false;
};

fs::path cache_directory(const Options& options) {
  const fs::path directory = options.cache.directory();
  check(!directory.empty(), "neither XDG_CACHE_HOME nor HOME is set: say where the cache is with --cache-dir");
  return directory;
}

void print_json(const Json& json) { print("{}\n", json.dump(2, ' ', false, Json::error_handler_t::replace)); }

std::string time_text(std::time_t time) { return fmt::format("{:%Y-%m-%d %H:%M}", fmt::localtime(time)); }

std::string count_text(std::size_t count) {
  return count == 1 ? "1 entry" : fmt::format("{} entries", with_thousands(static_cast<std::int64_t>(count)));
}

// What an entry is worth: "current", or why no run would use it.
std::string worth_of(const data::CacheEntry& entry, const fs::path& data_dir) {
  if (!entry.info) return "damaged";
  if (entry.info->key.format != data::kCacheFormat) return "of another version of the program";
  try {
    const fs::path version = data::find_version(data_dir, entry.info->dataset);
    return data::read_manifest(version).digest == entry.info->key.digest ? "current" : "of other data";
  } catch (const Error&) {
    return "its data set is gone";
  }
}

Json entry_json(const data::CacheEntry& entry, const std::string& worth) {
  Json json = {
      {"key", entry.key},       {"path", entry.path.string()},
      {"bytes", entry.bytes},   {"last_used_utc", fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(entry.last_used))},
      {"in_use", entry.in_use}, {"current", worth == "current"},
      {"state", worth}};
  if (entry.info) {
    const data::CacheInfo& info = *entry.info;
    json.update({{"dataset", info.dataset},
                 {"data_digest", info.key.digest},
                 {"split", info.key.split},
                 {"front", info.key.front},
                 {"format", info.key.format},
                 {"shape", std::vector<std::int64_t>(info.shape.begin(), info.shape.end())}});
  } else {
    json["damage"] = entry.damage;
  }
  return json;
}

void print_entry(const data::CacheEntry& entry, const std::string& worth) {
  const std::string state = entry.in_use ? worth + ", in use" : worth;
  if (!entry.info) {
    print("  {:<16}  {}\n", entry.key, entry.damage);
    return;
  }
  const data::CacheInfo& info = *entry.info;
  print("  {:<16}  {:<16}  {:<5}  {:<24}  {:>9}  {:>8}  {}  {}\n", entry.key, info.dataset, info.key.split,
        info.key.front, with_thousands(info.shape[0]), bytes_text(static_cast<double>(entry.bytes)),
        time_text(entry.last_used), state);
}

int list(const Options& options) {
  const fs::path directory = cache_directory(options);
  const fs::path data_dir = options.directory();
  const std::vector<data::CacheEntry> entries = data::list_cache(directory);
  std::int64_t bytes = 0;
  for (const data::CacheEntry& entry : entries) bytes += entry.bytes;
  if (options.json) {
    Json json = {{"directory", directory.string()}, {"bytes", bytes}, {"entries", Json::array()}};
    for (const data::CacheEntry& entry : entries)
      json["entries"].push_back(entry_json(entry, worth_of(entry, data_dir)));
    print_json(json);
    return 0;
  }
  print("{}: {}, {}\n", directory.string(), count_text(entries.size()), bytes_text(static_cast<double>(bytes)));
  if (entries.empty()) return 0;
  print("\n  {:<16}  {:<16}  {:<5}  {:<24}  {:>9}  {:>8}  {:<16}\n", "key", "data set", "split", "front", "images",
        "size", "last used");
  for (const data::CacheEntry& entry : entries) print_entry(entry, worth_of(entry, data_dir));
  return 0;
}

// The entries that the user named by their first digits, or all; of those the ones that were not used for long enough.
std::vector<data::CacheEntry> chosen(std::vector<data::CacheEntry> entries, const Options& options,
                                     const fs::path& directory) {
  const auto is_named = [](const data::CacheEntry& entry, const std::string& key) {
    return !key.empty() && entry.key.starts_with(key);
  };
  for (const std::string& key : options.keys) {
    const auto named = std::ranges::count_if(entries, [&](const auto& entry) { return is_named(entry, key); });
    check(named == 1, ErrorCode::data, "expected one entry that starts with '{}' in {}, found {}", key,
          directory.string(), named);
  }
  const std::time_t latest =
      options.older_than.empty() ? 0 : std::time(nullptr) - parse_seconds(options.older_than, "--older-than");
  std::erase_if(entries, [&](const data::CacheEntry& entry) {
    const auto is_key = [&](const std::string& key) { return is_named(entry, key); };
    if (!options.keys.empty() && std::ranges::none_of(options.keys, is_key)) return true;
    return !options.older_than.empty() && entry.last_used > latest;
  });
  return entries;
}

int clear(const Options& options) {
  const fs::path directory = cache_directory(options);
  std::vector<std::string> removed;
  std::vector<std::string> kept;
  std::int64_t bytes = 0;
  for (const data::CacheEntry& entry : chosen(data::list_cache(directory), options, directory)) {
    const bool gone = data::remove_cache_entry(entry);
    (gone ? removed : kept).push_back(entry.key);
    if (gone) bytes += entry.bytes;
  }
  data::remove_cache_leftovers(directory);
  if (options.json) {
    print_json(
        {{"directory", directory.string()}, {"removed", removed}, {"bytes", bytes}, {"kept_because_in_use", kept}});
  } else {
    print("{}: removed {}, {}\n", directory.string(), count_text(removed.size()),
          bytes_text(static_cast<double>(bytes)));
    if (!kept.empty()) print("  in use and kept: {}\n", joined(kept));
  }
  return 0;
}

// One part of a key in which the nearest entry differs: "the front: resize:28x28 there, resize:32x32 here".
std::string difference_text(const std::string& part, const data::CacheKey& there, const data::CacheKey& here) {
  if (part == "format") return fmt::format("the format: {} there, {} here", there.format, here.format);
  if (part == "split") return fmt::format("the split: {} there, {} here", there.split, here.split);
  if (part == "front") return fmt::format("the front: {} there, {} here", there.front, here.front);
  return fmt::format("the data: digest {:.16} there, {:.16} here", there.digest, here.digest);
}

struct Verdict {
  data::SplitPlan plan;
  std::string result = "NONE";       // "HIT", "MISS", or "NONE" where there is nothing to prepare
  std::string reason = {};           // of a miss
  std::string nearest = {};          // key of the nearest entry
  std::vector<std::string> differs;  // in what
};

// What a run does, with this much memory.
std::string use_text(const Verdict& verdict) {
  const data::SplitPlan& plan = verdict.plan;
  if (!plan.changed) return "the front changes nothing: images are used as they are stored";
  if (!plan.from_cache) return "a run prepares the images in memory, where they fit, and keeps nothing on disk";
  const bool hit = verdict.result == "HIT";
  return fmt::format("a run {} the entry{}", hit ? "uses" : "makes",
                     plan.in_memory ? " and holds the images in memory" : " and reads the images from it one by one");
}

Verdict judge(const data::SplitPlan& plan, std::span<const data::CacheEntry> entries) {
  Verdict verdict{.plan = plan, .differs = {}};
  if (!plan.changed) return verdict;
  const data::CacheLookup lookup = data::look_up(entries, plan.key);
  verdict.result = lookup.entry != nullptr && lookup.entry->info ? "HIT" : "MISS";
  if (lookup.entry != nullptr) {
    if (!lookup.entry->info) verdict.reason = "the file is damaged: " + lookup.entry->damage;
  } else if (lookup.nearest == nullptr) {
    verdict.reason = "there is no entry at all";
  } else {
    verdict.nearest = lookup.nearest->key;
    verdict.differs = lookup.differs;
    std::vector<std::string> parts;
    for (const std::string& part : lookup.differs)
      parts.push_back(difference_text(part, lookup.nearest->info->key, plan.key));
    verdict.reason = fmt::format("the nearest entry, {} of {}, differs in {}", lookup.nearest->key,
                                 lookup.nearest->info->dataset, joined(parts, " and in "));
  }
  return verdict;
}

Json verdict_json(const Verdict& verdict) {
  return {{"split", verdict.plan.key.split},   {"key", verdict.plan.key.name()}, {"result", verdict.result},
          {"reason", verdict.reason},          {"nearest", verdict.nearest},     {"differs", verdict.differs},
          {"needed", verdict.plan.from_cache}, {"use", use_text(verdict)},       {"images", verdict.plan.images},
          {"bytes", verdict.plan.bytes}};
}

int why(const Options& options) {
  const data::Front front = data::Transform::parse(options.augment).front();
  const fs::path directory = cache_directory(options);
  const data::Manifest manifest = data::dataset_info(options.directory(), options.dataset).manifest;
  const std::vector<data::CacheEntry> entries = data::list_cache(directory);
  std::int64_t memory = options.cache.bytes();
  std::vector<Verdict> verdicts;
  for (const char* split : {"train", "test"})
    verdicts.push_back(judge(data::plan_split(manifest, split, front, memory), entries));
  if (options.json) {
    Json json = {{"directory", directory.string()},
                 {"dataset", manifest.name},
                 {"data_digest", manifest.digest},
                 {"front", to_string(front)},
                 {"splits", Json::array()}};
    for (const Verdict& verdict : verdicts) json["splits"].push_back(verdict_json(verdict));
    print_json(json);
    return 0;
  }
  print("{}, digest {:.16}, front {}, in {}\n", manifest.name, manifest.digest,
        front.empty() ? "of nothing" : to_string(front), directory.string());
  for (const Verdict& verdict : verdicts) {
    const data::SplitPlan& plan = verdict.plan;
    print("  {:<5}  {:<4}  {}, {} images, {}\n", plan.key.split, verdict.result, plan.key.name(),
          with_thousands(plan.images), bytes_text(static_cast<double>(plan.bytes)));
    if (!verdict.reason.empty()) print("               {}\n", verdict.reason);
    print("               {}\n", use_text(verdict));
  }
  return 0;
}

std::shared_ptr<Options> add_options(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_flag("--json", options->json, "print one JSON object");
  return options;
}

}  // namespace

Action data_cache_ls(CLI::App& app) {
  auto options = add_options(app);
  add_cache_dir(app, options->cache);
  app.add_option("--data-dir", options->data_dir, "where data sets are stored [$XDG_DATA_HOME/lockring/data]")
      ->type_name("DIR");
  app.footer(
      "An entry is current if its data set is stored and still the same.\n\nExample:\n  lockring data cache ls --json");
  return [options] { return list(*options); };
}

Action data_cache_clear(CLI::App& app) {
  auto options = add_options(app);
  app.add_option("keys", options->keys, "entries to remove, by the first digits of their keys; all if none is given")
      ->configurable(false)
      ->default_str("")
      ->type_name("KEY");
  app.add_option("--older-than", options->older_than, "only those not used for so long, such as 12h or 30d")
      ->configurable(false)
      ->type_name("TIME");
  add_cache_dir(app, options->cache);
  app.footer(
      "What a process is using stays.\n\nExamples:\n  lockring data cache clear --older-than 30d\n"
      "  lockring data cache clear 1f0c2b");
  return [options] { return clear(*options); };
}

Action data_cache_why(CLI::App& app) {
  auto options = add_options(app);
  add_data_options(app, *options);
  app.add_option("--augment", options->augment, "as for lockring train; its resize and grayscale matter here");
  add_cache_options(app, options->cache);
  app.footer("Example:\n  lockring data cache why --dataset fashion-mnist --augment resize:32,flip --cache-memory 4M");
  return [options] { return why(*options); };
}

}  // namespace lockring::app
