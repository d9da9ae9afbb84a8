#include "core/notes.h"

#include <atomic>
#include <mutex>
#include <set>
#include <utility>

namespace lockring {
namespace {

// Never destroyed: threads may say something while the program ends.
struct Notes {
  std::mutex mutex;
  std::set<std::string> known;
  std::vector<std::string> fresh;
  std::atomic<bool> any = false;  // so that asking in every step costs nothing
};
Notes& notes() {
  static auto* value = new Notes;
  return *value;
}

}  // namespace

void say_once(const std::string& text) {
  const std::lock_guard lock(notes().mutex);
  if (!notes().known.insert(text).second) return;
  notes().fresh.push_back(text);
  notes().any = true;
}

std::vector<std::string> take_notes() {
  if (!notes().any) return {};
  const std::lock_guard lock(notes().mutex);
  notes().any = false;
  return std::exchange(notes().fresh, {});
}

}  // namespace lockring
