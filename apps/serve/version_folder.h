// A model repository on disk: FOLDER/MODEL/VERSION/NAME.safetensors, versions being numbers.
//
// A version is there when its folder is: whoever adds one copies it under another name (".3", "3.new") and renames it.
// Links are not followed, so nothing outside the repository is ever opened.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace lockring::app::serve {

struct BundleFile {
  std::filesystem::path path;
  std::string digest;  // of SHA-256, from a file NAME.safetensors.sha256 beside it as sha256sum writes it; "" if none
};

// Names of the models that are there, sorted. Throws Error{data} if the folder cannot be read.
std::vector<std::string> models_in(const std::filesystem::path& folder);
// The versions of a model, the highest first. None if there is no such model.
std::vector<std::int64_t> versions_of(const std::filesystem::path& folder, const std::string& model);
// Throws Error{data} unless there is exactly one bundle, or one called model.safetensors.
BundleFile bundle_of(const std::filesystem::path& folder, const std::string& model, std::int64_t version);
// Another text whenever a file of the version came, went or was written to.
std::string stamp_of(const std::filesystem::path& folder, const std::string& model, std::int64_t version);

}  // namespace lockring::app::serve
