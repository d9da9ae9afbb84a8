// Files that grow piece by piece beside the work proper: logs, metrics, events. What goes wrong with one is the
// caller's to tell, and never leaves half a piece behind.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace lockring::app {

enum class IfMissing { create, fail };

// Adds `piece` to the end of the file, all or nothing. Returns "" or the system's reason why not. The file is opened
// anew each time, so that one that was removed, or a folder that has gone, is noticed.
std::string append_whole(const std::filesystem::path& path, std::string_view piece, IfMissing missing);

}  // namespace lockring::app
