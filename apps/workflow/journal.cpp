#include "apps/workflow/journal.h"

#include "core/error.h"
#include "core/files.h"

#include <fcntl.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <optional>

namespace lockring::app::workflow {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kStates[] = {"waiting", "running", "ready",  "succeeded", "cached",
                                        "skipped", "omitted", "failed", "errored",   "stopped"};
constexpr std::string_view kKinds[] = {"begin", "start", "end", "finish"};
constexpr std::chrono::milliseconds kSyncInterval{1000};

template <class Enum, std::size_t N>
Enum from_name(const std::string_view (&names)[N], const std::string& name) {
  const auto* found = std::ranges::find(names, name);
  check(found != std::end(names), ErrorCode::data, "'{}' is unknown", name);
  return static_cast<Enum>(found - names);
}

std::string line_of(const JournalEntry& entry) {
  nlohmann::ordered_json json = {{"event", kKinds[static_cast<std::size_t>(entry.kind)]}, {"time", entry.time}};
  if (!entry.step.empty()) json["step"] = entry.step;
  if (entry.attempt > 0) json["attempt"] = entry.attempt;
  if (entry.kind == JournalEntry::Kind::end || entry.kind == JournalEntry::Kind::finish) {
    json["state"] = name_of(entry.state);
    json["seconds"] = entry.seconds;
    if (entry.code != 0) json["code"] = entry.code;
  }
  if (entry.again) json["again"] = true;
  if (!entry.message.empty()) json["message"] = entry.message;
  if (!entry.key.empty()) json["key"] = entry.key;
  if (!entry.outputs.empty()) json["outputs"] = nlohmann::ordered_json::parse(outputs_json(entry.outputs));
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + '\n';
}

std::optional<JournalEntry> parse_line(const std::string& line) {
  try {
    const nlohmann::json json = nlohmann::json::parse(line);
    JournalEntry entry;
    entry.kind = from_name<JournalEntry::Kind>(kKinds, json.at("event").get<std::string>());
    entry.time = json.at("time").get<double>();
    entry.step = json.value("step", "");
    entry.attempt = json.value("attempt", 0);
    entry.state = from_name<StepState>(kStates, json.value("state", "waiting"));
    entry.again = json.value("again", false);
    entry.message = json.value("message", "");
    entry.code = json.value("code", 0);
    entry.seconds = json.value("seconds", 0.0);
    entry.key = json.value("key", "");
    if (json.contains("outputs")) entry.outputs = parse_outputs(json["outputs"].dump());
    return entry;
  } catch (const nlohmann::json::exception&) {
    return std::nullopt;
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace

std::string_view name_of(StepState state) { return kStates[static_cast<std::size_t>(state)]; }

bool is_final(StepState state) { return state >= StepState::succeeded; }

bool is_good(StepState state) {
  return state == StepState::succeeded || state == StepState::cached || state == StepState::ready;
}

std::vector<JournalEntry> read_journal(const fs::path& file) {
  std::vector<JournalEntry> entries;
  const std::string text = read_file(file);
  for (std::size_t at = 0, end; (end = text.find('\n', at)) != std::string::npos; at = end + 1)
    if (std::optional<JournalEntry> entry = parse_line(text.substr(at, end - at))) entries.push_back(std::move(*entry));
  return entries;
}

Journal::Journal(const fs::path& file, const std::vector<fs::path>& beside) : path_(file), beside_(beside) {
  file_ = open(file.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  check(file_ >= 0, ErrorCode::data, "cannot write {}: {}", file.string(), std::strerror(errno));
  const std::string text = read_file(file);
  const std::size_t whole = text.rfind('\n') == std::string::npos ? 0 : text.rfind('\n') + 1;
  if (whole != text.size() && ftruncate(file_, static_cast<off_t>(whole)) != 0) {
    const int error = errno;
    close(file_);
    fail(ErrorCode::data, "cannot write {}: {}", file.string(), std::strerror(error));
  }
  beside_.push_back(file.parent_path());
  syncer_ = std::thread([this] { keep_synced(); });
}

Journal::~Journal() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  ended_.notify_one();
  syncer_.join();
  close(file_);
}

// One write: another process that reads sees a whole line or a torn one at the end, which it leaves out.
void Journal::add(const JournalEntry& entry) {
  const std::string line = line_of(entry);
  std::string_view rest = line;
  while (!rest.empty()) {
    const ssize_t count = write(file_, rest.data(), rest.size());
    if (count < 0 && errno == EINTR) continue;
    check(count >= 0, ErrorCode::data, "cannot write {}: {}", path_.string(), std::strerror(errno));
    rest.remove_prefix(static_cast<std::size_t>(count));
  }
  dirty_ = true;
}

void Journal::sync() {
  if (dirty_.exchange(false)) fdatasync(file_);
}

void Journal::keep_synced() {
  for (const fs::path& path : beside_) {
    const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) continue;
    fsync(file);
    close(file);
  }
  std::unique_lock lock(mutex_);
  while (!ended_.wait_for(lock, kSyncInterval, [&] { return ending_; })) sync();
  sync();
}

}  // namespace lockring::app::workflow
