#include "apps/workflow/attempt.h"

#include "apps/workflow/content.h"
#include "core/error.h"
#include "core/files.h"

#include <algorithm>
#include <system_error>

namespace lockring::app::workflow {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kBeside = ".lockring-";  // beginning of a folder's name beside a fixed place
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

}  // namespace

Attempt::Attempt(const StepSpec& step, const StateFolder& state, const std::string& run, int number,
                 const std::string& key)
    : step_(step),
      state_(state),
      name_(fmt::format("{}.{}.{}", run, step.name, number)),
      stored_as_(key.empty() ? name_ : key) {
  for (const OutputSpec& output : step.outputs) {
    fs::path folder;
    if (is_stored(output)) {
      folder = folder_ = state_.temporary() / name_;
    } else {
      folder = fs::path(output.path).parent_path() / (std::string(kBeside) + name_);
      beside_.push_back(folder);
    }
    discard(folder / output.file_name);
    make_folders(folder);
    outputs_[output.name] = fs::absolute(folder / output.file_name).string();
  }
}

Attempt::~Attempt() {
  if (!folder_.empty()) discard(folder_);
  for (const fs::path& folder : beside_) discard(folder);
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
  for (const fs::path& path : beginning_with(state.temporary(), run + ".")) discard(path);
  for (const StepSpec& step : workflow.steps)
    for (const OutputSpec& output : step.outputs)
      if (!is_stored(output))
        for (const fs::path& path :
             beginning_with(fs::path(output.path).parent_path(), std::string(kBeside) + run + "."))
          discard(path);
  // Moved into their place, but the process was killed before it could write so down.
  for (const fs::path& path : beginning_with(state.outputs(), run + "."))
    if (std::ranges::none_of(kept,
                             [&](const std::string& location) { return location.starts_with(path.string() + "/"); }))
      discard(path);
}

}  // namespace lockring::app::workflow
