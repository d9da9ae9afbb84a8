// Files over HTTP and HTTPS.
#pragma once

#include "data/content.h"

#include <filesystem>
#include <string>

namespace lockring::data {

// Downloads URL/NAME.gz, or URL/NAME where that does not exist, for the four files into `folder`. What arrives is kept
// as NAME.part, so that the next attempt goes on from there; files that are whole are not asked for again. Tries again
// a few times when a connection breaks. Throws Error{data} on an HTTP error, no answer or a full disk.
FilePaths download_files(const std::string& url, const std::filesystem::path& folder, const FileProgress& progress);

// Downloads URL/NAME in the same way if the server has it; returns whether it does.
bool download_if_there(const std::string& url, const std::filesystem::path& folder, const std::string& name,
                       const FileProgress& progress);

}  // namespace lockring::data
