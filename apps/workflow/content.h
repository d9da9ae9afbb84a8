// What a file or folder holds, as digests.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace lockring::app::workflow {

struct Content {
  std::string digest;    // of every byte, name and executable bit: whether it is still the same
  std::string identity;  // of what counts for those who use it
  std::int64_t bytes = 0;
};

// Of a folder all files below it, in the order of their names; a link counts as its text. `identity` are patterns of
// fnmatch(3) on paths below the folder, whose "*" also matches "/": a file counts if one without "!" in front matches
// it, or there is none such, and none with "!" does. Throws Error{data} if something is missing, cannot be read or is
// neither file, folder nor link.
Content content_of(const std::filesystem::path& path, const std::vector<std::string>& identity = {});
// The same digest as that of a file with this text.
Content content_of_text(const std::string& text);

}  // namespace lockring::app::workflow
