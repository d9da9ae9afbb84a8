// What memoized steps have made, by key. Any number of processes may use one cache.
#pragma once

#include "apps/workflow/record.h"
#include "apps/workflow/state_folder.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace lockring::data {
class FileLock;
}

namespace lockring::app::workflow {

struct CacheEntry {
  StepKey key;
  std::string workflow;
  std::string step;
  std::int64_t updated = 0;  // when it was made: seconds since 1970, UTC
  std::vector<OutputRecord> outputs;
};

class Cache {
 public:
  explicit Cache(StateFolder state) : state_(std::move(state)) {}

  struct Answer {
    std::optional<CacheEntry> hit;
    std::string reason;  // why not
  };
  // A hit is an entry of this key, not older than the step allows and not from the future, whose outputs are all there
  // and have not changed. `now` is in seconds since 1970, UTC.
  Answer find(const std::string& workflow, const StepSpec& step, const StepKey& key, std::int64_t now) const;
  // Replaces the entry of its key. Throws Error{data}.
  void store(const CacheEntry& entry) const;

  // The right to make what a key is of; null while another process, or another step of this one, has it.
  std::unique_ptr<data::FileLock> take(const StepKey& key) const;
  void release(const StepKey& key, std::unique_ptr<data::FileLock> lock) const;

  // All that are whole, the oldest first.
  std::vector<CacheEntry> list() const;
  std::filesystem::path file_of(const std::string& key) const { return state_.cache() / (key + ".json"); }

 private:
  // In what the step's key differs from that of its last entry.
  std::string explain(const std::string& workflow, const StepSpec& step, const StepKey& key) const;

  StateFolder state_;
};

}  // namespace lockring::app::workflow
