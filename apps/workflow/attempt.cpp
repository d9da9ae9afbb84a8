#include "apps/workflow/attempt.h"

#include "apps/workflow/builtin.h"
#include "apps/workflow/content.h"
#include "core/error.h"
#include "core/files.h"

#include <algorithm>
#include <fstream>
#include <system_error>

namespace lockring::app::workflow {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kBeside = ".lockring-";  // beginning of a folder's name beside a fixed place
constexpr char kCheckpointed[] = "run";             // the output that has a step's checkpoint in it
constexpr std::int64_t kLongestValue = 64 << 10;

bool is_stored(const OutputSpec& output) { return output.path.empty(); }

void make_folders(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  check(!error, ErrorCode::data, "cannot make the folder {}: {}", folder.string(), error.message());
}

void move(const fs::path& from, const fs::path& to) {
  std::error_code error;
  fs::rename(from, to, error);
  check(!error, ErrorCode::data, "cannot move {} to {}: {}", from.string(), to.string(), error.message());
}

void discard(const fs::path& path) {
  std::error_code ignored;
  fs::remove_all(path, ignored);
}

// A folder cannot be renamed over one that has something in it: the old one first goes aside.
void replace(const fs::path& from, const fs::path& to) {
  std::error_code ignored;
  fs::path aside = from;
  aside += ".replaced";
  if (fs::is_directory(fs::symlink_status(to, ignored))) move(to, aside);
  move(from, to);
  discard(aside);
}

bool has_checkpoints(const StepSpec& step) { return !find_builtin(step.uses).checkpoint.empty(); }

std::string folder_name(const StepSpec& step, const std::string& run, int number, const std::string& key) {
  constexpr std::size_t kDigits = 16;
  return fmt::format("{}.{}.{}", run, step.name,
                     has_checkpoints(step) && !key.empty() ? key.substr(0, kDigits) : std::to_string(number));
}

std::string read_value(const fs::path& path) {
  check(fs::file_size(path) <= kLongestValue, ErrorCode::data, "the value in {} is longer than {} bytes", path.string(),
        kLongestValue);
  std::string value = read_file(path);
  while (!value.empty() && (value.back() == '\n' || value.back() == '\r')) value.pop_back();
  check(value.find('\0') == std::string::npos, ErrorCode::data, "the value in {} has a zero byte", path.string());
  return value;
}

// Entries of a folder whose names begin so.
std::vector<fs::path> beginning_with(const fs::path& folder, const std::string& begin) {
  std::vector<fs::path> found;
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder.empty() ? "." : folder, ignored))
    if (entry.path().filename().string().starts_with(begin)) found.push_back(entry.path());
  return found;
}

// What attempts of a run have worked in, with what has checkpoints or without.
void remove_half_made(const Workflow& workflow, const StateFolder& state, const std::string& run, bool all) {
  std::vector<std::string> spared;  // beginnings of names
  for (const StepSpec& step : workflow.steps)
    if (!all && has_checkpoints(step)) spared.push_back(run + "." + step.name + ".");
  const auto remove = [&](const fs::path& folder, const std::string& before_run) {
    for (const fs::path& path : beginning_with(folder, before_run + run + ".")) {
      const std::string name = path.filename().string().substr(before_run.size());
      if (std::ranges::none_of(spared, [&](const std::string& begin) { return name.starts_with(begin); }))
        discard(path);
    }
  };
  remove(state.temporary(), "");
  for (const StepSpec& step : workflow.steps)
    for (const OutputSpec& output : step.outputs)
      if (!is_stored(output)) remove(fs::path(output.path).parent_path(), std::string(kBeside));
}

}  // namespace

Attempt::Attempt(const StepSpec& step, const StateFolder& state, const std::string& run, int number,
                 const std::string& key)
    : step_(step),
      state_(state),
      name_(folder_name(step, run, number, key)),
      stored_as_(step.memoize.on && !key.empty() ? key : name_) {
  for (const OutputSpec& output : step.outputs) {
    fs::path folder;
    if (is_stored(output)) {
      folder = folder_ = state_.temporary() / name_;
    } else {
      folder = fs::path(output.path).parent_path() / (std::string(kBeside) + name_);
      beside_.push_back(folder);
    }
    outputs_[output.name] = fs::absolute(folder / output.file_name).string();
    if (!has_checkpoint()) discard(folder / output.file_name);
    make_folders(folder);
    if (step.server && output.name == kServerHost) std::ofstream(folder / output.file_name) << "127.0.0.1\n";
  }
}

Attempt::~Attempt() {
  if (!folder_.empty()) discard(folder_);
  for (const fs::path& folder : beside_) discard(folder);
}

bool Attempt::has_checkpoint() const {
  const auto run = outputs_.find(kCheckpointed);
  std::error_code ignored;
  return has_checkpoints(step_) && run != outputs_.end() &&
         fs::exists(fs::path(run->second) / find_builtin(step_.uses).checkpoint, ignored);
}

void Attempt::leave_checkpoint() {
  if (!has_checkpoint()) return;
  folder_.clear();
  beside_.clear();
}

bool Attempt::has_outputs() const {
  std::error_code ignored;
  return std::ranges::all_of(outputs_, [&](const auto& output) { return fs::exists(output.second, ignored); });
}

fs::path Attempt::place_of(const OutputSpec& output) const {
  return is_stored(output) ? state_.outputs() / stored_as_ / output.file_name : fs::path(output.path);
}

OutputRecord Attempt::record_of(const OutputSpec& output) const {
  const fs::path path = outputs_.at(output.name);
  std::error_code ignored;
  check(fs::exists(path, ignored), ErrorCode::data, "the step did not make its output {}: there is no {}", output.name,
        path.string());
  const bool wants_folder = output.kind == OutputKind::directory;
  check(fs::is_directory(path, ignored) == wants_folder, ErrorCode::data, "output {}: expected a {} at {}, found a {}",
        output.name, wants_folder ? "folder" : "file", path.string(), wants_folder ? "file" : "folder");
  OutputRecord record{
      .name = output.name, .kind = output.kind, .location = {}, .value = {}, .digest = {}, .identity = {}};
  Content content;
  if (output.kind == OutputKind::value) {
    record.value = read_value(path);
    content = content_of_text(record.value);
  } else {
    record.location = place_of(output).string();
    content = content_of(path, output.identity);
  }
  record.digest = content.digest;
  record.identity = content.identity;
  record.bytes = content.bytes;
  return record;
}

std::vector<OutputRecord> Attempt::collect() {
  std::vector<OutputRecord> records;
  for (const OutputSpec& output : step_.outputs) records.push_back(record_of(output));
  bool stored = false;
  for (const OutputSpec& output : step_.outputs) {
    if (output.kind == OutputKind::value)
      discard(outputs_.at(output.name));
    else
      stored |= is_stored(output);
  }
  const fs::path place = state_.outputs() / stored_as_;
  // Who reads what is the same already is not disturbed.
  if (stored && !find_change(step_, records).empty()) {
    replace(folder_, place);
    folder_.clear();
  }
  for (const OutputSpec& output : step_.outputs)
    if (!is_stored(output)) replace(outputs_.at(output.name), output.path);
  return records;
}

std::vector<OutputRecord> Attempt::collect_in_place() const {
  std::vector<OutputRecord> records;
  for (const OutputSpec& output : step_.outputs) {
    OutputRecord& record = records.emplace_back(record_of(output));
    if (output.kind != OutputKind::value) record.location = outputs_.at(output.name);
  }
  return records;
}

void Attempt::remove_leftovers(const Workflow& workflow, const StateFolder& state, const std::string& run,
                               const std::vector<std::string>& kept) {
  remove_half_made(workflow, state, run, false);
  // Moved into their place, but the process was killed before it could write so down.
  for (const fs::path& path : beginning_with(state.outputs(), run + "."))
    if (std::ranges::none_of(kept,
                             [&](const std::string& location) { return location.starts_with(path.string() + "/"); }))
      discard(path);
}

void Attempt::remove_checkpoints(const Workflow& workflow, const StateFolder& state, const std::string& run) {
  if (std::ranges::any_of(workflow.steps, has_checkpoints)) remove_half_made(workflow, state, run, true);
}

}  // namespace lockring::app::workflow
