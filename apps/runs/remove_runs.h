// Taking run directories away, which cannot be undone.
#pragma once

#include <filesystem>
#include <functional>
#include <span>
#include <string>

namespace lockring::app {

// Removes all of the runs, or none: throws Error{usage} before anything is touched if one of them is a link, is being
// trained in, or has other runs inside; `confirm` is then asked with a description, and may refuse. Throws Error{data}
// if one cannot be removed. Returns false if `confirm` did.
bool remove_runs(std::span<const std::filesystem::path> runs,
                 const std::function<bool(const std::string& what)>& confirm);

}  // namespace lockring::app
