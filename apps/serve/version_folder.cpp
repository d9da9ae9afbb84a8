#include "apps/serve/version_folder.h"

#include "apps/select/selection.h"
#include "core/error.h"
#include "core/files.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <functional>

namespace lockring::app::serve {
namespace fs = std::filesystem;
namespace {

bool is_folder(const fs::path& path) {
  std::error_code ignored;
  return fs::symlink_status(path, ignored).type() == fs::file_type::directory;
}

bool is_file(const fs::path& path) {
  std::error_code ignored;
  return fs::symlink_status(path, ignored).type() == fs::file_type::regular;
}

std::vector<fs::path> entries_of(const fs::path& folder) {
  std::vector<fs::path> entries;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error))
    entries.push_back(entry->path());
  check(!error, ErrorCode::data, "cannot read {}: {}", folder.string(), error.message());
  return entries;
}

// 0 if it is none.
std::int64_t version_number(const std::string& name) {
  std::int64_t number = 0;
  const auto [rest, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  const bool whole = error == std::errc() && rest == name.data() + name.size();
  return whole && number > 0 && std::to_string(number) == name ? number : 0;
}

}  // namespace

std::vector<std::string> models_in(const fs::path& folder) {
  std::vector<std::string> models;
  for (const fs::path& entry : entries_of(folder))
    if (is_model_name(entry.filename().string()) && is_folder(entry)) models.push_back(entry.filename().string());
  std::ranges::sort(models);
  return models;
}

std::vector<std::int64_t> versions_of(const fs::path& folder, const std::string& model) {
  std::vector<std::int64_t> versions;
  if (!is_model_name(model) || !is_folder(folder / model)) return versions;
  for (const fs::path& entry : entries_of(folder / model))
    if (const std::int64_t version = version_number(entry.filename().string()); version > 0 && is_folder(entry))
      versions.push_back(version);
  std::ranges::sort(versions, std::greater());
  return versions;
}

BundleFile bundle_of(const fs::path& folder, const std::string& model, std::int64_t version) {
  const fs::path inside = folder / model / std::to_string(version);
  std::vector<fs::path> bundles;
  for (const fs::path& entry : entries_of(inside))
    if (entry.extension() == ".safetensors" && is_file(entry)) bundles.push_back(entry);
  const fs::path usual = inside / "model.safetensors";
  if (std::ranges::count(bundles, usual) > 0) bundles = {usual};
  check(bundles.size() == 1, ErrorCode::data, "{}: expected one bundle (.safetensors), found {}", inside.string(),
        bundles.size());
  BundleFile bundle{bundles.front(), ""};
  const fs::path digest = bundle.path.string() + ".sha256";
  if (is_file(digest)) {
    const std::string text = read_file(digest);
    bundle.digest = text.substr(0, std::min(text.find_first_of(" \t\r\n"), text.size()));
  }
  return bundle;
}

std::string stamp_of(const fs::path& folder, const std::string& model, std::int64_t version) {
  std::vector<fs::path> entries = entries_of(folder / model / std::to_string(version));
  std::ranges::sort(entries);
  std::string stamp;
  std::error_code gone;  // what goes while it is looked at is another stamp next time
  for (const fs::path& entry : entries) {
    const auto size = is_file(entry) ? fs::file_size(entry, gone) : 0;
    const auto written = fs::last_write_time(entry, gone).time_since_epoch().count();
    stamp += fmt::format("{} {} {}\n", entry.filename().string(), size, written);
  }
  return stamp;
}

}  // namespace lockring::app::serve
